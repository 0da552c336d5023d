"""Record the results of MXNet 1.9.1 for recurrent networks and the model zoo.

Run it with an interpreter that has mxnet 1.9.1 (Python 3.10, NumPy 1.23)::

    python tests/parity/record_recurrent.py

It runs what ``tests/parity/cases/recurrent.py`` lists and writes ``recurrent.json``,
``recurrent.npz`` and ``zoo_tiny.params`` in ``tests/parity/fixtures``.
"""

import json
import sys
from pathlib import Path

import mxnet as mx
import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "cases"))

import recurrent as cases  # noqa: E402


def main() -> None:
    """Write the fixtures."""
    facts: dict = {"texts": {}, "graphs": {}, "nets": {}}
    arrays: dict = {}

    def keep(name, result):
        for i, each in enumerate(result):
            arrays[f"{name}|{i}"] = each.astype("float32")

    for code in cases.TEXTS:
        facts["texts"][code] = cases.text(mx, code)
    for code, shape, kwargs in cases.CELLS:
        facts["graphs"][code] = cases.cell_graph(mx, code, kwargs)
        if code in cases.COUNTED:
            keep(code, cases.numbers(mx, cases.make(mx, code), shape, cases.unrolled(mx, kwargs)))
    for code, shape in cases.LAYERS:
        facts["graphs"][code] = cases.layer_graph(mx, code)
        if code in cases.COUNTED:
            keep(code, cases.numbers(mx, cases.make(mx, code), shape, cases.with_states(mx)))
    for code, shape in cases.PREDICTING:
        call = cases.with_states(mx)
        keep(code, cases.numbers(mx, cases.make(mx, code), shape, call, train=False))
    for code, shape, kwargs in cases.SYMBOLS:
        facts["graphs"][code], result = cases.symbolic(mx, code, shape, kwargs)
        keep(code, result)
    for name in cases.NETS:
        facts["nets"][name] = cases.net(mx, name)
    small = cases.small_net(mx)
    x = mx.nd.array(cases.data((2, 3, 8, 8)))
    small.initialize()
    small(x)
    cases.fill(mx, small.collect_params())
    for name, each in small.collect_params().items():
        if name.endswith("running_var"):
            each.set_data(mx.nd.ones(each.shape))
    small.save_parameters(str(HERE / "fixtures" / "zoo_tiny.params"))
    keep("tiny", [small(x).asnumpy()])
    keep("mobilenet0.25", [cases.forward(mx, "mobilenet0.25", (1, 3, 32, 32))])
    (HERE / "fixtures" / "recurrent.json").write_text(json.dumps(facts, indent=1) + "\n")
    np.savez_compressed(HERE / "fixtures" / "recurrent.npz", **arrays)


if __name__ == "__main__":
    main()
