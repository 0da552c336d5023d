"""Operators that are defined by other operators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet.base import MXNetError
from tests.onnx.models import agrees, computed, floats, model_of, saved
from tests.onnx.runtime import onnx

make = onnx.helper.make_node


def with_functions(model: Any, *functions: Any) -> Any:
    """A model that brings functions of the domain ``own`` along."""
    model.functions.extend(functions)
    model.opset_import.append(onnx.helper.make_opsetid("own", 1))
    return model


def leaning() -> Any:
    """A function of one input, ``slope * x`` below 0, with a default of the slope."""
    slope = onnx.helper.make_node("Constant", [], ["slope"])
    attribute = slope.attribute.add()
    attribute.name, attribute.ref_attr_name, attribute.type = "value_float", "steepness", 1
    nodes = [slope, make("PRelu", ["x", "slope"], ["bent"]), make("Neg", ["bent"], ["y"])]
    return onnx.helper.make_function(
        "own", "Leaning", ["x"], ["y"], nodes, [onnx.helper.make_opsetid("", 17)],
        attribute_protos=[onnx.helper.make_attribute("steepness", 0.25)],
    )  # fmt: skip


def test_functions_of_the_file_are_imported(tmp_path: Path) -> None:
    nodes = [
        make("Leaning", ["x"], ["once"], domain="own"),
        make("Leaning", ["once"], ["y"], domain="own", steepness=0.5),
    ]
    x = floats(3, 4)
    model = with_functions(model_of(nodes, {"x": [3, 4]}, ["y"]), leaning())
    agrees(model, tmp_path / "net.onnx", x=x)
    first = -np.where(x < 0, 0.25 * x, x)
    (ours,) = computed(model, tmp_path / "net.onnx", x=x)
    np.testing.assert_allclose(ours, -np.where(first < 0, 0.5 * first, first), rtol=1e-6)
    symbol, *_ = mx.contrib.onnx.import_model(tmp_path / "net.onnx")
    names = symbol.get_internals().list_outputs()
    assert len({*names}) == len(names), "each call has nodes of its own"


def test_functions_may_call_functions(tmp_path: Path) -> None:
    nodes = [
        make("Leaning", ["a"], ["c"], domain="own"),
        make("Add", ["c", "b"], ["d"]),
    ]
    sets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("own", 1)]
    outer = onnx.helper.make_function("own", "Outer", ["a", "b"], ["d"], nodes, sets)
    call = make("Outer", ["x", "x"], ["y"], domain="own")
    model = with_functions(model_of([call], {"x": [5]}, ["y"]), leaning(), outer)
    agrees(model, tmp_path / "net.onnx", x=floats(5))


def test_an_operator_that_onnx_defines_by_others_is_imported(tmp_path: Path) -> None:
    node = make("Celu", ["x"], ["y"], alpha=1.5)
    agrees(model_of([node], {"x": [2, 3]}, ["y"]), tmp_path / "net.onnx", x=floats(2, 3))


def test_attention_passes_gradients_on(tmp_path: Path) -> None:
    q, k, v = floats(1, 2, 3, 4), floats(1, 2, 5, 4), floats(1, 2, 5, 4)
    node = make("Attention", ["q", "k", "v"], ["y"])
    shapes = {"q": q.shape, "k": k.shape, "v": v.shape}
    path = saved(model_of([node], shapes, ["y"], opset=23), tmp_path / "net.onnx")
    symbol, arguments, _ = mx.contrib.onnx.import_model(path)
    inputs = {"q": mx.nd.array(q), "k": mx.nd.array(k), "v": mx.nd.array(v)}
    executor = symbol.bind(
        mx.cpu(), {**inputs, **arguments}, args_grad={"q": mx.nd.zeros(q.shape)},
        grad_req={n: "write" if n == "q" else "null" for n in symbol.list_arguments()},
    )  # fmt: skip
    (out,) = executor.forward(is_train=True)

    def attention(query: np.ndarray) -> np.ndarray:
        scores = np.exp(query.astype("float64") @ k.swapaxes(2, 3) / 2)
        return scores / scores.sum(-1, keepdims=True) @ v

    np.testing.assert_allclose(out.asnumpy(), attention(q), rtol=1e-5, atol=1e-6)
    executor.backward(mx.nd.ones(out.shape))
    step = np.zeros(q.shape)
    step[0, 1, 2, 3] = 1e-4
    slope = (attention(q + step) - attention(q - step)).sum() / 2e-4
    np.testing.assert_allclose(executor.grad_dict["q"].asnumpy()[0, 1, 2, 3], slope, rtol=1e-3)


@pytest.mark.parametrize(
    ("domain", "kind", "words"),
    [
        ("own", "Missing", "own.Missing of node 'n' is not one of ONNX's own"),
        ("", "NonZero", "the size of its result depends on the values of its input"),
        ("ai.onnx.preview.training", "Momentum", "cannot be read yet"),
    ],
)
def test_operators_without_a_definition_are_errors(
    domain: str, kind: str, words: str, tmp_path: Path
) -> None:
    model = model_of([make(kind, ["x"], ["y"], name="n", domain=domain)], {"x": [2]}, ["y"])
    with pytest.raises(MXNetError, match=words):
        mx.contrib.onnx.import_model(saved(with_functions(model), tmp_path / "net.onnx"))
