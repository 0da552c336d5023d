"""Every operator gives the same lazily, in one program with its gradient, as run at once."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from tests import processes

# Both modes run the same function; XLA may contract a product and a sum into one rounding, or take
# another order of summing, where it sees more than one operation. Units in the last place of float32.
CLOSE = {"rtol": 2e-5, "atol": 2e-6}

PROGRAM = """
import sys
import numpy as np
import mixnet as mx
from tests.ops.records import RECORDS
from tests.ops.test_records import inputs_of, run

found = {}
for number, record in enumerate(RECORDS):
    arrays = [mx.nd.array(each, dtype=each.dtype) for each in inputs_of(record, "float32")]
    for i, each in enumerate(arrays):
        if record.gradient and i not in record.integers:
            each.attach_grad()
    with mx.autograd.record():
        outputs = run(record, arrays)
    if record.gradient and arrays:
        mx.autograd.backward(outputs)
    for i, each in enumerate(outputs):
        found[f"{number} {record.op} output {i}"] = each.asnumpy()
    for i, each in enumerate(arrays):
        if each.grad is not None:
            found[f"{number} {record.op} gradient {i}"] = each.grad.asnumpy()
np.savez(sys.argv[1], **found)
"""


@pytest.mark.spread
def test_every_operator(tmp_path: Path) -> None:
    results = []
    for mode in ("NaiveEngine", "ThreadedEnginePerDevice"):
        out = tmp_path / f"{mode}.npz"
        environment = {**os.environ, "MXNET_ENGINE_TYPE": mode, "PYTHONPATH": os.getcwd()}
        processes.run(
            [sys.executable, "-c", PROGRAM, str(out)], env=environment, check=True, timeout=240
        )
        results.append(np.load(out))
    naive, lazy = results
    assert naive.files == lazy.files and len(lazy.files) > 250
    for key in lazy.files:
        np.testing.assert_allclose(naive[key], lazy[key], err_msg=key, **CLOSE)
