"""The share of ONNX's own backend tests that pass: ``python -m tests.onnx.backend [part of a name]``.

Models and data come with the package ``onnx``. Counted are tests of single operators with
tensors whose operators can be read; other tests are listed by what they need.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import warnings
from collections import Counter
from typing import Any

import numpy as np

import mixnet as mx
from mixnet.base import MXNetError
from mixnet.onnx.load.graph import OLDEST_READ
from mixnet.onnx.load.import_model import from_proto


def check(case: Any) -> None:
    """Run one test.

    Raises:
        Exception: it does not pass.
    """
    model = case.model
    source, expected = ([_array(each) for each in part] for part in case.data_sets[0])
    names = [each.name for each in model.graph.input]
    arrays = dict(zip(names, source, strict=False))
    shapes = {name: array.shape for name, array in arrays.items()}
    _constants(model, arrays)
    symbol, arguments, states, inputs, _ = from_proto(model, case.name, shapes)
    bound = {  # one number is an array of one element here
        n: mx.nd.array(np.atleast_1d(arrays[n]), dtype=arrays[n].dtype)
        for n in inputs
        if n in symbol.list_inputs()
    }
    executor = symbol.bind(mx.cpu(), {**bound, **arguments}, aux_states=states, grad_req="null")
    for ours, theirs in zip(executor.forward(), expected, strict=False):
        ours = ours.asnumpy().reshape(theirs.shape)
        np.testing.assert_allclose(
            ours.astype("float64"), theirs.astype("float64"), rtol=1e-3, atol=1e-4
        )


def _array(value: Any) -> np.ndarray:
    import onnx

    return (
        onnx.numpy_helper.to_array(value)
        if isinstance(value, onnx.TensorProto)
        else np.asarray(value)
    )


# Inputs that say what a node does rather than what it is applied to: the test gives them as inputs.
_SETTINGS = {
    "axes",
    "axis",
    "shape",
    "size",
    "sizes",
    "output_shape",
    "scales",
    "pads",
    "split",
    "starts",
    "ends",
    "steps",
    "repeats",
    "new_shape",
    "k",
    "depth",
    "values",
    "W",
    "R",
    "B",
    "roi",
    "value",
    "min",
    "max",
    "r",
    "ratio",
    "X_scales",
    "K",
    "constant_value",
    "mean",
    "var",
}


def _constants(model: Any, arrays: dict[str, np.ndarray]) -> None:
    import onnx

    node = model.graph.node[0]
    counts = {"Tile": {*node.input[1:]}, "ConstantOfShape": {*node.input}}.get(node.op_type, set())
    for name in (_SETTINGS | counts) & arrays.keys():
        if model.graph.node[0].op_type in ("Max", "Min", "Where"):
            continue
        model.graph.initializer.append(onnx.numpy_helper.from_array(arrays[name], name))


_RANDOM = ("test_bernoulli", "test_training_dropout")

# Tensors of these dtypes are arrays here; others are 4 and 8 bit floats, strings, complex numbers,
# and no tensors.
_DTYPES = {1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13}


def _has_known_dtypes(model: Any) -> bool:
    infos = [*model.graph.input, *model.graph.output]
    casts = [a.i for node in model.graph.node for a in node.attribute if a.name == "to"]
    kinds = {each.type.tensor_type.elem_type for each in infos} | set(casts)
    return kinds <= _DTYPES


def cases_of(files: str) -> list[Any]:
    """ONNX's tests of operators, from its files whose names begin so: to load all takes six seconds."""
    from onnx.backend.test.case import node

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not files:
            return node.collect_testcases(None)
        for module in pkgutil.iter_modules(node.__path__, node.__name__ + "."):
            if module.name.rpartition(".")[2].startswith(files):
                importlib.import_module(module.name)  # which adds its tests
        return node._NodeTestCases


def measure(part: str = "", files: str = "") -> tuple[Counter[str], dict[str, str]]:
    """How many tests pass, fail and are out of reach, and why tests fail."""
    counts: Counter[str] = Counter()
    failed: dict[str, str] = {}
    for case in cases_of(files):
        if part not in case.name or case.model is None:
            continue
        if any(e.domain == "" and e.version < OLDEST_READ for e in case.model.opset_import):
            counts["operator sets that are too old"] += 1
            continue
        if not _has_known_dtypes(case.model):
            counts["dtypes that mixnet does not have"] += 1
            continue
        if case.name.startswith(_RANDOM):
            counts["random numbers, which are others here"] += 1
            continue
        try:
            check(case)
            counts["pass"] += 1
        except Exception as error:
            if "cannot be read yet" in str(error):
                counts["out of reach"] += 1
                failed[case.name] = (
                    "out of reach: " + str(error).partition("ONNX operator ")[2][:160]
                )
                continue
            refused = isinstance(error, MXNetError)
            counts["refused" if refused else "fail"] += 1
            failed[case.name] = f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
    return counts, failed


if __name__ == "__main__":
    score, why = measure(sys.argv[1] if len(sys.argv) > 1 else "")
    for name, reason in why.items():
        print(f"{name}: {reason}")
    within = score["pass"] + score["refused"] + score["fail"]
    print(
        dict(score), f"{score['pass']}/{within} = {score['pass'] / max(1, within):.1%} within reach"
    )
