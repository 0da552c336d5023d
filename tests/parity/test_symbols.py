"""Symbol files written by MXNet 1.9.1: names, shapes, outputs, gradients and states after training."""

from __future__ import annotations

import json
import operator
from pathlib import Path

import numpy as np
import pytest

import mixnet as mx
from mixnet.ops import OPERATORS
from tests.each_record import each_record

FIXTURES = Path(__file__).parent / "fixtures"
NAMES = ["mlp", "lenet", "resblock", "multi_output", "lstm"]
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


def _load(name: str):
    symbol = mx.sym.load(FIXTURES / f"{name}-symbol.json")
    info = json.loads((FIXTURES / f"{name}-info.json").read_text())
    return symbol, info, np.load(FIXTURES / f"{name}.npz")


@pytest.mark.parametrize("name", NAMES)
def test_names_and_shapes_are_mxnets(name: str) -> None:
    symbol, info, _ = _load(name)
    assert symbol.list_arguments() == info["list_arguments"]
    assert symbol.list_outputs() == info["list_outputs"]
    assert symbol.list_auxiliary_states() == info["list_auxiliary_states"]
    assert symbol.get_internals().list_outputs() == info["internals"]
    assert symbol.name == info["name"]
    shapes = {key: tuple(shape) for key, shape in info["given_shapes"].items()}
    arguments, outputs, states = symbol.infer_shape(**shapes)
    assert [list(s) for s in arguments] == info["arg_shapes"]
    assert [list(s) for s in outputs] == info["out_shapes"]
    assert [list(s) for s in states] == info["aux_shapes"]


@pytest.mark.parametrize("name", NAMES)
def test_forward_and_backward_are_mxnets(name: str) -> None:
    symbol, _, stored = _load(name)
    parts: dict[str, dict] = {"arg": {}, "aux": {}}
    for key in stored:
        kind, _, rest = key.partition(":")
        if kind in parts:
            parts[kind][rest] = mx.nd.array(stored[key], dtype=stored[key].dtype)
    gradients = {n: mx.nd.zeros(a.shape) for n, a in parts["arg"].items()}
    executor = symbol.bind(mx.cpu(), parts["arg"], gradients, "write", parts["aux"])
    for mode, training in (("predict", False), ("train", True)):
        for i, output in enumerate(executor.forward(is_train=training)):
            expected = stored[f"out_{mode}:{i}"]
            np.testing.assert_allclose(output.asnumpy(), expected, err_msg=mode, **CLOSE)
    executor.backward([mx.nd.ones(o.shape) for o in executor.outputs])
    for key in stored:
        kind, _, rest = key.partition(":")
        if kind == "grad":
            np.testing.assert_allclose(
                executor.grad_dict[rest].asnumpy(), stored[key], err_msg=key, **CLOSE
            )
        if kind == "aux_after_train":
            np.testing.assert_allclose(
                executor.aux_dict[rest].asnumpy(), stored[key], err_msg=key, **CLOSE
            )


@pytest.mark.parametrize("name", NAMES)
def test_written_again_it_is_the_same_graph(name: str) -> None:
    symbol, _, _ = _load(name)
    again = mx.sym.load_json(symbol.tojson())
    original = json.loads((FIXTURES / f"{name}-symbol.json").read_text())
    written = json.loads(again.tojson())
    assert written["heads"] == original["heads"]
    assert written["arg_nodes"] == original["arg_nodes"]
    for ours, theirs in zip(written["nodes"], original["nodes"], strict=True):
        assert (ours["op"], ours["name"], ours["inputs"]) == (
            theirs["op"],
            theirs["name"],
            theirs["inputs"],
        )
        assert ours.get("attrs", {}) == theirs.get("attrs", {})


SHAPE_CASES = [
    case
    for case in json.loads((FIXTURES / "shapes.json").read_text())["cases"]
    if "arguments" in case
    # The mask of rrelu is hidden here.
    and case["attrs"].get("act_type") != "rrelu"
]


@each_record("case", SHAPE_CASES, ids=lambda case: f"{case['op']}-{case['attrs']}")
def test_parameter_shapes_are_mxnets(case: dict) -> None:
    attributes = {k: tuple(v) if isinstance(v, list) else v for k, v in case["attrs"].items()}
    inputs = {name: mx.sym.Variable(name) for name in case["given"]}
    function = operator.attrgetter(case["op"])(mx.sym)
    known = OPERATORS.get(case["op"])
    if known is None and case["op"] == "split_v2":  # a Python function, which names nothing
        symbol = function(*inputs.values(), **attributes)
        shapes = symbol.infer_shape(**{n: tuple(s) for n, s in case["given"].items()})[1]
        assert [list(shape) for shape in shapes] == [shape for _, shape in case["outputs"]]
        return
    if known is not None and known.variadic:
        symbol = function(*inputs.values(), name="op", **attributes)
    else:
        symbol = function(**inputs, name="op", **attributes)
    shapes = {n: tuple(s) for n, s in case["given"].items()}
    arguments, outputs, states = symbol.infer_shape(**shapes)
    assert [[n, list(s)] for n, s in zip(symbol.list_arguments(), arguments, strict=True)] == case[
        "arguments"
    ]
    assert [[n, list(s)] for n, s in zip(symbol.list_outputs(), outputs, strict=True)] == case[
        "outputs"
    ]
    names = symbol.list_auxiliary_states()
    assert [[n, list(s)] for n, s in zip(names, states, strict=True)] == case["auxiliary"]
