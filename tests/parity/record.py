"""Ask MXNet 1.9.1 for results of operators and store them as fixtures.

Run it with an interpreter that has mxnet 1.9.1 (Python 3.10, NumPy 1.23)::

    python tests/parity/record.py FAMILY

It reads ``CASES`` of ``tests/parity/cases/FAMILY.py``, runs each case forward and, where it names
gradients, backward from random head gradients, and writes ``tests/parity/fixtures/FAMILY.json`` and
``FAMILY.npz`` in the form that ``tests/parity/test_operators.py`` reads. A case is a dict: ``case``
(unique name), ``op`` (a registered name; ``_npi_x`` is called with ``mx.np`` arrays), ``inputs``
(name -> NumPy array, or a list of arrays for variadic operators), ``attrs``, ``grads`` (names of
inputs), ``train``, ``states`` (names of inputs whose values after the call are stored), ``out``
(names of inputs that the outputs are written to), ``close`` (tolerances, for float16); with
``symbol`` it runs as a symbol, which some old operators need for their states and others to run
at all.
"""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


def find(face, name):
    """The function of an operator by its registered name, of mx.nd or mx.sym."""
    below = {"_npi_": face.numpy._internal, "_linalg_": face.linalg, "_contrib_": face.contrib,
             "_image_": face.image}  # fmt: skip
    for prefix, space in below.items():
        if name.startswith(prefix):
            return getattr(space, name[len(prefix) :])
    return getattr(face, name, None) or getattr(face._internal, name)


def _bind(mx, case, tensors):
    """Run a case as a symbol: outputs, and a function that goes backward from heads."""
    states = case.get("states", [])
    function = find(mx.sym, case["op"])
    arguments = {k: v for k, v in tensors.items() if k not in states}
    symbol = function(*map(mx.sym.var, arguments), name="op", **case.get("attrs", {}))
    grads = {k: v.grad for k, v in arguments.items() if v.grad is not None}
    executor = symbol.bind(
        mx.cpu(), arguments, grads, {k: "write" if k in grads else "null" for k in arguments},
        [tensors[k] for k in states],
    )  # fmt: skip
    return executor.forward(is_train=case.get("train", True)), executor.backward


def _called(mx, case, tensors):
    """The outputs of a case as a list, and a function that runs backward from head gradients."""
    train = case.get("train", True)
    if case.get("symbol"):
        outputs, backward = _bind(mx, case, tensors)
        return list(outputs), backward
    attributes = dict(case.get("attrs", {}))
    if "out" in case:
        attributes["out"] = [tensors[each] for each in case["out"]]
    if case.get("grads"):
        scope = mx.autograd.record(train_mode=train)
    else:
        scope = mx.autograd.train_mode() if train else mx.autograd.predict_mode()
    with scope:
        out = find(mx.nd, case["op"])(*tensors.values(), **attributes)
    outputs = list(out) if isinstance(out, (list, tuple)) else [out]
    return outputs, lambda heads: mx.autograd.backward(outputs, heads, train_mode=train)


def _results(mx, case, inputs):
    """The arrays that a case leaves: its outputs, head gradients, gradients and states."""
    array = mx.np.array if case["op"].startswith("_npi_") else mx.nd.array
    tensors = {k: array(v, dtype=v.dtype) for k, v in inputs.items()}
    grads = case.get("grads", [])
    for each in grads:
        tensors[each].attach_grad()
    outputs, backward = _called(mx, case, tensors)
    values = [each.asnumpy() for each in outputs]
    arrays = {f"out/{i}": value for i, value in enumerate(values)}
    if grads:
        rng = np.random.RandomState(7)
        heads = [rng.uniform(-1, 1, v.shape).astype(v.dtype) for v in values]
        arrays.update({f"head/{i}": head for i, head in enumerate(heads)})
        backward([array(h, dtype=h.dtype) for h in heads])
        arrays.update({f"grad/{each}": tensors[each].grad.asnumpy() for each in grads})
    arrays.update({f"aux_after/{key}": tensors[key].asnumpy() for key in case.get("states", [])})
    return arrays, len(outputs)


def main(family):
    import mxnet as mx

    spec = importlib.util.spec_from_file_location(family, HERE / "cases" / (family + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    described, arrays = [], {}
    for case in module.CASES:
        name, inputs = case["case"], case["inputs"]
        if isinstance(inputs, list):
            inputs = {f"arg{i}": each for i, each in enumerate(inputs)}
        mx.util.set_np_shape(case["op"].startswith("_npi_"))
        entry = {
            "case": name, "op": case["op"], "attrs": case.get("attrs", {}), "inputs": list(inputs),
            "train": case.get("train", True), "grads": case.get("grads", []),
            "file": family + ".npz",
        }  # fmt: skip
        entry.update({key: case[key] for key in ("states", "out", "close") if key in case})
        results = {f"in/{key}": value for key, value in inputs.items()}
        try:
            of_case, entry["outputs"] = _results(mx, case, inputs)
            results.update(of_case)
        except mx.MXNetError as error:
            entry["raises"] = "MXNetError"
            print(name, "raises", str(error).splitlines()[-1][:200])
        arrays.update({f"{name}/{key}": value for key, value in results.items()})
        described.append(entry)
    fixtures = HERE / "fixtures"
    text = json.dumps({"about": "written by tests/parity/record.py", "cases": described}, indent=1)
    (fixtures / (family + ".json")).write_text(text + "\n")
    np.savez_compressed(fixtures / (family + ".npz"), **arrays)
    print(family, len(described), "cases")


if __name__ == "__main__":
    main(sys.argv[1])
