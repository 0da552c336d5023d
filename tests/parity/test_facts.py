"""One-line facts about arrays that MXNet 1.9.1 stated: class, dtype, shape, values, errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as onp
import pytest

import mixnet as mx
from tests.each_record import each_record

FACTS = json.loads((Path(__file__).parent / "fixtures" / "semantics.json").read_text())
# Where mixnet differs, and why.
DEVIATIONS = {
    "float(nd.array([2.5]))": "MXNet raises TypeError; a number is what a reader expects",
    "int(nd.array([2.5]))": "MXNet raises TypeError; a number is what a reader expects",
    "mx.num_gpus() if hasattr(mx,'num_gpus') else 'absent'": "mx.num_gpus is there too",
    "np.pad(np.array([1,2]),1,mode='constant')": "NumPy takes one number for all axes, so do we",
}


def _check_array(actual: Any, fact: list[Any]) -> None:
    dtype, shape, values = fact[-3:]
    assert onp.dtype(actual.dtype).name == dtype
    assert actual.shape == tuple(shape)
    expected = onp.asarray(values, "float64").reshape(tuple(shape))
    onp.testing.assert_allclose(actual.asnumpy().astype("float64"), expected, rtol=1e-5, atol=1e-6)


def _check(actual: Any, fact: list[Any]) -> None:
    if fact[0] == "value" and fact[1].startswith("<"):
        assert repr(actual).startswith(fact[1].rstrip(">"))
    elif fact[0] == "value" and "mxnet." in fact[1]:
        assert repr(actual).replace("mixnet", "mxnet") == fact[1]
    elif fact[0] == "value":
        actual = actual.item() if isinstance(actual, onp.generic) else actual
        assert repr(actual) == fact[1]
    elif fact[0] in ("list", "tuple"):
        for each, part in zip(actual, fact[1], strict=True):
            _check_array(each, part)
    else:
        assert type(actual).__name__ == fact[0]
        _check_array(actual, fact)


def _run(text: str, fact: list[Any], scope: dict[str, Any]) -> None:
    if fact[0] != "raises":
        _check(eval(text, scope), fact)
        return
    with pytest.raises(Exception) as raised:
        actual = eval(text, scope)
        if hasattr(actual, "asnumpy"):
            actual.asnumpy()
    assert fact[1] in [cls.__name__ for cls in type(raised.value).__mro__]


def _facts(section: str) -> list[Any]:
    return [(text, fact) for text, fact in FACTS[section] if text not in DEVIATIONS]


@each_record("text, fact", _facts("nd"), ids=lambda case: case[0])
def test_facts_about_nd_hold(text: str, fact: list[Any]) -> None:
    _run(text, fact, {"mx": mx, "nd": mx.nd, "onp": onp})


@each_record("text, fact", _facts("np"), ids=lambda case: case[0])
def test_facts_about_np_hold(text: str, fact: list[Any]) -> None:
    mx.npx.set_np()
    try:
        _run(text, fact, {"mx": mx, "np": mx.np, "npx": mx.npx, "onp": onp})
    finally:
        mx.npx.reset_np()
