"""Positional arguments after the attributes of an operator, as in MXNet 1.9.1."""

from __future__ import annotations

from typing import Any

import pytest

import mixnet as mx
from mixnet import nd, sym

CALLS: dict[str, tuple[Any, list[float]]] = {
    "no attributes": (lambda x, y: nd.sqrt(x, y), [1, 2]),
    "a name behind": (lambda x, y: nd.sqrt(x, y, "root"), [1, 2]),
    "two arrays": (lambda x, y: nd.broadcast_add(x, x, y), [2, 8]),
    "attributes": (lambda x, y: nd.clip(x, 2, 3, y), [2, 3]),
    "a method": (lambda x, y: x.sqrt(y), [1, 2]),
    "an update": (lambda x, y: nd.sgd_update(x, x, 0.5, 0, 1, -1, True, y), [0.5, 2]),
}


@pytest.mark.parametrize("case", CALLS)
def test_the_array_for_the_result_may_be_positional(case: str) -> None:
    call, expected = CALLS[case]
    y = nd.zeros(2)
    assert call(nd.array([1, 4]), y) is y
    assert y.asnumpy().tolist() == expected


@pytest.mark.parametrize(
    "call",
    [
        lambda x: nd.sqrt(x, 3),
        lambda x: nd.sqrt(x, x, out=x),
        lambda x: nd.sqrt(x, x, "name", 4),
        lambda x: sym.sqrt(sym.var("a"), 3),
        lambda x: sym.sqrt(sym.var("a"), sym.var("b")),
        lambda x: sym.sqrt(sym.var("a"), "n", name="m"),
    ],
)
def test_surplus_values_after_the_attributes_are_errors(call: Any) -> None:
    with pytest.raises(
        TypeError,
        match=r"sqrt got \d value\(s\) after its attributes, the first of type \w+; only an? ",
    ):
        call(nd.ones(2))


def test_the_name_of_a_node_may_be_positional() -> None:
    a = sym.var("a")
    assert sym.sqrt(a, "root").name == "root"
    assert sym.sqrt(a, None, {"k": "v"}).attr("k") == "v"
    assert sym.sum(a, 0, True, False, "total").name == "total"
    assert sym.broadcast_add(a, sym.var("b"), "both", {"k": "v"}).attr("k") == "v"


def test_outputs_of_a_symbol_are_not_parts_of_its_array() -> None:
    group = sym.Group([sym.var("a"), sym.var("b")])
    assert [each.name for each in group[0:2]] == ["a", "b"]
    for wrong in (slice(0, 3), slice(2, 4)):
        with pytest.raises(IndexError, match="slice_axis takes parts of an array"):
            group[wrong]
    with pytest.raises(IndexError):
        mx.sym.exp(sym.var("a"))[0:2]
