"""Operators against results that MXNet 1.9.1 computed: forward, gradients, states."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet.ops.namespace import PREFIXES
from tests.each_record import each_record

FIXTURES = Path(__file__).parent / "fixtures"
# The cases that came with the project, and those of the families in cases/.
FILES = ["operators", *sorted(each.stem for each in (FIXTURES.parent / "cases").glob("[a-z]*.py"))]


def _registered(name: str) -> str:
    """``_linalg_gemm`` for ``linalg.gemm``."""
    space, _, rest = name.rpartition(".")
    return PREFIXES[space] + rest if space else rest


CASES = [
    {**case, "family": name}
    for name in FILES
    for case in json.loads((FIXTURES / f"{name}.json").read_text()).get("cases", ())
    if hasattr(mx.nd, _registered(case["op"]))
]

# Cases in which mixnet differs on purpose.
DEVIATIONS = {
    "softmaxoutput_out_grad": "MXNet multiplies by the output where its documentation says the head",
    "leakyrelu_selu": "MXNet's slope below 0 is not the derivative of its forward",
    "rnn_lstm_seqlen": "MXNet takes the lengths and ignores them on a CPU",
    "rnn_lstm_clip": "MXNet takes the bounds and ignores them on a CPU",
}
CASES = [case for case in CASES if case["case"] not in DEVIATIONS]

# The stored values agree within 1e-4 between MXNet's own two sets of kernels.
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


def _tuples(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


@functools.cache
def _stored(file: str) -> dict[str, Any]:
    return dict(np.load(FIXTURES / file))


@each_record("case", CASES, ids=lambda case: case["case"], by=lambda case: case["family"])
def test_agrees_with_mxnet(case: dict[str, Any]) -> None:
    name = case["case"]
    everything = _stored(case["file"]) if "file" in case else {}
    stored = {key: value for key, value in everything.items() if key.startswith(f"{name}/")}
    close = case.get("close", CLOSE)
    attributes = {key: _tuples(value) for key, value in case["attrs"].items()}
    inputs = {
        each: mx.nd.array(stored[f"{name}/in/{each}"], dtype=stored[f"{name}/in/{each}"].dtype)
        for each in case["inputs"]
    }
    function = getattr(mx.nd, _registered(case["op"]))
    if "raises" in case:
        with pytest.raises(mx.MXNetError):
            function(*inputs.values(), **attributes)
        return
    for each in case["grads"]:
        inputs[each].attach_grad()
    if "out" in case:
        attributes["out"] = [inputs[each] for each in case["out"]]
    with mx.autograd.record(train_mode=case["train"]):
        actual = function(*inputs.values(), **attributes)
    outputs = actual if isinstance(actual, list) else [actual]
    assert len(outputs) == case["outputs"]
    for i, output in enumerate(outputs):
        expected = stored[f"{name}/out/{i}"]
        assert output.shape == expected.shape and output.dtype == expected.dtype
        # A unit in the last place of float16 is 0.001 of the number.
        near = {"rtol": 2e-3} if expected.dtype == "float16" and close is CLOSE else close
        np.testing.assert_allclose(output.asnumpy(), expected, err_msg=f"output {i}", **near)
    if case["grads"]:
        keys = [f"{name}/head/{i}" for i in range(len(outputs))]
        heads = [
            mx.nd.array(stored[k], dtype=stored[k].dtype) if k in stored else None for k in keys
        ]
        mx.autograd.backward(outputs, heads, train_mode=case["train"])
    for each in case["grads"]:
        expected = stored[f"{name}/grad/{each}"]
        np.testing.assert_allclose(
            inputs[each].grad.asnumpy(), expected, err_msg=f"gradient of {each}", **CLOSE
        )
    for key in stored:
        # MXNet moves BatchNorm's statistics in backward, mixnet in forward: without a backward they
        # differ. States that a case names are written in forward by both.
        if (case["grads"] or "states" in case) and key.startswith(f"{name}/aux_after/"):
            state = inputs[key.rsplit("/", 1)[1]]
            np.testing.assert_allclose(state.asnumpy(), stored[key], err_msg=key, **close)
