"""Every optimizer computes the weights and states of MXNet 1.9.1."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as onp
import pytest

import mixnet as mx
from tests.each_record import each_record

FIXTURES = Path(__file__).parents[1] / "parity" / "fixtures"
CASES = json.loads((FIXTURES / "optimizers.json").read_text())
NUMBERS = onp.load(FIXTURES / "optimizers.npz")
# MXNet asks an array for its truth value there; with momentum mixnet makes the step of the paper.
RAISES = {name for name, case in CASES.items() if "raises" in case}
ROWS = [[0, 2], [1], [0, 3], [2], [0, 1, 2, 3]]


def _make(case: dict[str, Any]) -> mx.optimizer.Optimizer:
    options = dict(case["kwargs"])
    if "lr_scheduler" in options:
        options["lr_scheduler"] = mx.lr_scheduler.FactorScheduler(step=2, factor=0.5)
    return mx.optimizer.create(case["create"], **options)


def _flat(state: Any) -> list[Any]:
    if isinstance(state, (tuple, list)):
        return [part for each in state for part in _flat(each)]
    return [] if state is None else [state]


@each_record("name", sorted(CASES.keys() - RAISES))
@pytest.mark.filterwarnings("ignore:Accumulating with float16")
def test_weights_and_states_are_mxnets(name: str) -> None:
    case, half = CASES[name], name.startswith("mp_")
    updater = mx.optimizer.get_updater(_make(case))
    weight = mx.nd.array(NUMBERS["weight0"], dtype="float16" if half else "float32")
    sparse = name.startswith("sparse_")
    if sparse:
        weight = weight.tostype("row_sparse")
    for k, data in enumerate(NUMBERS["grads"]):
        grad = mx.nd.array(data, dtype=weight.dtype)
        if sparse:
            rows = ROWS[k]
            grad = mx.nd.sparse.row_sparse_array((data[rows], rows), shape=data.shape)
        updater(0, grad, weight)
        onp.testing.assert_allclose(
            weight.asnumpy(), NUMBERS[name][k], rtol=2e-3 if half else 2e-6, atol=1e-6
        )
    states = _flat(updater.states[0])
    assert len(states) == case.get("states", len(states))
    for i, state in enumerate(states):
        key = f"{name}:state{i}"
        if key in NUMBERS:
            onp.testing.assert_allclose(state.asnumpy(), NUMBERS[key], rtol=2e-6, atol=1e-6)


def test_momentum_of_dcasgd_follows_the_formula() -> None:
    kwargs = CASES["dcasgd_mom"]["kwargs"]
    updater = mx.optimizer.get_updater(mx.optimizer.create("dcasgd", **kwargs))
    weight = mx.nd.array(NUMBERS["weight0"])
    w, before, velocity = NUMBERS["weight0"].astype("float64"), NUMBERS["weight0"], 0.0
    for grad in NUMBERS["grads"]:
        updater(0, mx.nd.array(grad), weight)
        step = grad + kwargs["wd"] * w + kwargs["lamda"] * grad**2 * (w - before)
        velocity = kwargs["momentum"] * velocity - kwargs["learning_rate"] * step
        before, w = w, w + velocity
        onp.testing.assert_allclose(weight.asnumpy(), w, rtol=1e-5)
