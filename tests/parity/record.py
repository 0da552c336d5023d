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


def _bind(mx, case, made):
    """Run a case as a symbol: outputs, and a function that goes backward from heads."""
    states = case.get("states", [])
    function = find(mx.sym, case["op"])
    arguments = {k: v for k, v in made.items() if k not in states}
    symbol = function(*map(mx.sym.var, arguments), name="op", **case.get("attrs", {}))
    grads = {k: v.grad for k, v in arguments.items() if v.grad is not None}
    executor = symbol.bind(
        mx.cpu(), arguments, grads, {k: "write" if k in grads else "null" for k in arguments},
        [made[k] for k in states],
    )  # fmt: skip
    return executor.forward(is_train=case.get("train", True)), executor.backward


def main(family):
    import mxnet as mx

    spec = importlib.util.spec_from_file_location(family, HERE / "cases" / (family + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    described, arrays = [], {}
    for case in module.CASES:
        name, train = case["case"], case.get("train", True)
        inputs = case["inputs"]
        if isinstance(inputs, list):
            inputs = {f"arg{i}": each for i, each in enumerate(inputs)}
        numpy = case["op"].startswith("_npi_")
        mx.util.set_np_shape(numpy)
        array = mx.np.array if numpy else mx.nd.array
        made = {k: array(v, dtype=v.dtype) for k, v in inputs.items()}
        grads = case.get("grads", [])
        for each in grads:
            made[each].attach_grad()
        function = None if case.get("symbol") else find(mx.nd, case["op"])
        entry = {
            "case": name, "op": case["op"], "attrs": case.get("attrs", {}), "inputs": list(inputs),
            "train": train, "grads": grads, "file": family + ".npz",
        }  # fmt: skip
        given = dict(case.get("attrs", {}))
        for key in ("states", "out", "close"):
            if key in case:
                entry[key] = case[key]
        if "out" in case:
            given["out"] = [made[each] for each in case["out"]]
        for key, value in inputs.items():
            arrays[f"{name}/in/{key}"] = value
        try:
            if case.get("symbol"):
                found, backward = _bind(mx, case, made)
            else:
                if grads:
                    scope = mx.autograd.record(train_mode=train)
                else:
                    scope = mx.autograd.train_mode() if train else mx.autograd.predict_mode()
                with scope:
                    found = function(*made.values(), **given)
            outputs = list(found) if isinstance(found, (list, tuple)) else [found]
            values = [each.asnumpy() for each in outputs]
            for i, value in enumerate(values):
                arrays[f"{name}/out/{i}"] = value
            if grads:
                rng = np.random.RandomState(7)
                heads = [rng.uniform(-1, 1, v.shape).astype(v.dtype) for v in values]
                for i, head in enumerate(heads):
                    arrays[f"{name}/head/{i}"] = head
                heads = [array(h, dtype=h.dtype) for h in heads]
                if case.get("symbol"):
                    backward(heads)
                else:
                    mx.autograd.backward(outputs, heads, train_mode=train)
                for each in grads:
                    arrays[f"{name}/grad/{each}"] = made[each].grad.asnumpy()
            for key in case.get("states", []):
                arrays[f"{name}/aux_after/{key}"] = made[key].asnumpy()
            entry["outputs"] = len(outputs)
        except mx.MXNetError as error:
            entry["raises"] = "MXNetError"
            print(name, "raises", str(error).splitlines()[-1][:200])
        described.append(entry)
    fixtures = HERE / "fixtures"
    text = json.dumps({"about": "written by tests/parity/record.py", "cases": described}, indent=1)
    (fixtures / (family + ".json")).write_text(text + "\n")
    np.savez_compressed(fixtures / (family + ".npz"), **arrays)
    print(family, len(described), "cases")


if __name__ == "__main__":
    main(sys.argv[1])
