"""One-line facts about symbols that MXNet 1.9.1 stated: names, arguments, outputs, nodes, errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import nd, sym
from tests.each_record import each_record

NUMPY = "(a, b as np symbols) "
FACTS = json.loads((Path(__file__).parent / "fixtures" / "semantics.json").read_text())
DEVIATIONS = {
    "hash(a) is not None": "symbols are hashed by identity, so that they can be keys",
    "a(a=b)": "composing a bare variable gives what takes its place",
}


def _described(symbol: sym.Symbol) -> list[Any]:
    rows = json.loads(symbol.tojson())["nodes"]
    nodes = [[r["op"], r["name"], r.get("attrs", {})] for r in rows if r["op"] != "null"]
    return [
        "Symbol", symbol.name, symbol.list_arguments(), symbol.list_auxiliary_states(),
        symbol.list_outputs(), nodes, repr(symbol),
    ]  # fmt: skip


def _bound(op: str, attrs: dict[str, str]) -> Any:
    """What attributes say, however much of it is spelled out; devices are chosen when it runs."""
    operator = mx.ops.find(op)
    own = {k: v for k, v in attrs.items() if k in operator.attributes and k != "ctx"}
    users = {k: v for k, v in attrs.items() if k.startswith("__")}
    return operator.bind(own), users


CASES = [(text, fact) for text, fact in FACTS["sym"] if text not in DEVIATIONS]


@each_record("text, fact", CASES, ids=lambda case: case[0])
def test_facts_about_symbols_hold(text: str, fact: list[Any]) -> None:
    names = {name: sym.Variable(name) for name in "abxy"}
    names["g"] = sym.Group([names["x"], names["y"]])
    names["sp"] = sym.split(names["a"], num_outputs=3, name="sp")
    if text.startswith(NUMPY):
        text = text.removeprefix(NUMPY)
        names = {name: each.as_np_ndarray() for name, each in names.items()}
    scope = {"mx": mx, "sym": sym, "nd": nd, "onp": np, **names}
    with mx.name.NameManager():
        if fact[0] == "raises":
            with pytest.raises(Exception):  # noqa: B017 - which class is checked elsewhere
                eval(text, scope)
            return
        actual = eval(text, scope)
    if isinstance(actual, sym.Symbol):
        described = _described(actual)
        assert described[:5] + described[6:] == fact[:5] + fact[6:]
        for ours, theirs in zip(described[5], fact[5], strict=True):
            assert ours[:2] == theirs[:2]
            assert _bound(*ours[::2]) == _bound(*theirs[::2])
    elif "{" in fact[1]:
        assert eval(repr(actual)) == eval(fact[1])
    else:
        assert repr(actual) == fact[1]
