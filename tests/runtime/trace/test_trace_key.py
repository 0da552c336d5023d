"""Keys of traces are readable and say why another call needs a new trace."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

import mixnet as mx
from mixnet.runtime.trace.trace_key import TraceKey
from mixnet.runtime.value.value import Spec


def spec(*shape: int, dtype: str = "float32") -> Spec:
    return Spec.of(shape, np.dtype(dtype), mx.cpu())


KEY = TraceKey((spec(2, 3),), False, ("data",), "(NDArray)", {"w": spec(4, 3)}, "abc")


def test_the_first_trace_has_a_reason_and_an_equal_key_has_none() -> None:
    assert KEY.reasons(None) == ["first trace"]
    assert KEY.reasons(replace(KEY)) == []


def test_every_reason_for_a_new_trace_is_named() -> None:
    def why(**changed) -> list[str]:
        return replace(KEY, **changed).reasons(KEY)

    assert why(inputs=(spec(4, 3),)) == ["data: shape (2, 3) -> (4, 3)"]
    assert why(inputs=(spec(2, 3, dtype="float16"),)) == ["data: dtype float32 -> float16"]
    assert why(inputs=(spec(2, 3), spec(1)), names=("a", "b")) == ["number of inputs: 1 -> 2"]
    assert why(training=True) == ["train mode: False -> True"]
    assert why(arguments="(NDArray, 3)") == ["arguments: (NDArray) -> (NDArray, 3)"]
    assert why(parameters={"w": spec(4, 3, dtype="float16")}) == [
        "parameter w: dtype float32 -> float16"
    ]
    assert why(parameters={"v": spec(4, 3)}) == ["parameter v: new", "parameter w: no longer there"]
    assert why(structure="def") == ["the operations recorded are others"]
    # An unknown hash is no reason, and a hash is not listed beside another reason.
    assert why(structure="") == []
    assert why(structure="def", training=True) == ["train mode: False -> True"]


def test_another_device_is_a_reason() -> None:
    other = Spec.of((2, 3), np.dtype("float32"), mx.cpu(1))
    assert replace(KEY, inputs=(other,)).reasons(KEY) == ["data: context cpu(0) -> cpu(1)"]


def test_a_key_is_plain_data() -> None:
    data = json.loads(json.dumps(KEY.to_dict()))
    assert data == {
        "inputs": [{"name": "data", "shape": [2, 3], "dtype": "float32", "context": "cpu(0)"}],
        "training": False,
        "arguments": "(NDArray)",
        "parameters": [{"name": "w", "shape": [4, 3], "dtype": "float32", "context": "cpu(0)"}],
        "structure": "abc",
    }
    unnamed = TraceKey((spec(1), spec(2)), True).to_dict()
    assert [row["name"] for row in unnamed["inputs"]] == ["input 0", "input 1"]
