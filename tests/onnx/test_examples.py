"""Networks of the kinds that examples and lessons train: written, checked, run by ONNX Runtime with another batch, and read again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from tests.onnx.example_blocks import BLOCKS
from tests.onnx.runtime import onnx, session

TOLERANCE = 1e-4
"""Largest difference, of the largest number of an output."""


def near(found: Any, wanted: Any) -> None:
    """Check that lists of arrays hold the same numbers."""
    assert len(found) == len(wanted)
    for there, here in zip(found, wanted, strict=True):
        here = here.asnumpy() if hasattr(here, "asnumpy") else here
        there = there.asnumpy() if hasattr(there, "asnumpy") else there
        assert there.shape == here.shape
        assert there.dtype == here.dtype
        assert np.isfinite(here).all()
        assert np.abs(there - here).max() <= TOLERANCE * max(np.abs(here).max(), 1e-3)


def listed(results: Any) -> list[Any]:
    return list(results) if isinstance(results, (list, tuple)) else [results]


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks(name: str, tmp_path: Path) -> None:
    mx.random.seed(1)
    net, arrays = BLOCKS[name]()
    net.initialize(mx.init.Normal(0.5))
    net.hybridize()
    three = [np.concatenate([each, each[:1]])[::-1].copy() for each in arrays]
    here = [listed(net(*map(mx.nd.array, each))) for each in (arrays, three)]
    shapes = [("batch", *each.shape[1:]) for each in arrays]
    (path,) = net.export(str(tmp_path / "net"), format="onnx", dynamic_input_shapes=shapes)
    onnx.checker.check_model(path, full_check=True)
    there = session(path)
    names = [each.name for each in there.get_inputs()]
    for data, wanted in zip((arrays, three), here, strict=True):
        near(there.run(None, dict(zip(names, data, strict=True))), wanted)
        block = mx.contrib.onnx.import_to_gluon(path, mx.cpu(), dict(zip(names, [each.shape for each in data], strict=True)))  # fmt: skip
        near(listed(block(*map(mx.nd.array, data))), wanted)
