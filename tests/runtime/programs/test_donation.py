"""Donation: updates need no second copy, and referenced arrays are never donated."""

from __future__ import annotations

import gc

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mixnet as mx
from mixnet import autograd, nd
from mixnet.gluon import Parameter, Trainer
from mixnet.runtime.interpret import interpreter as interpret
from mixnet.runtime.interpret import patience
from mixnet.runtime.programs import donation, executable_cache

pytestmark = pytest.mark.usefixtures("compiling_at_once")

SIZE = 1_000_000


def live_bytes() -> int:
    gc.collect()
    return sum(array.nbytes for array in jax.live_arrays())


def test_no_more_pairings_are_stored_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(donation, "MOST_PAIRINGS", 3)
    monkeypatch.setattr(donation, "_pairings", {})
    sizes = []
    for steps in range(1, 9):  # each length is a program of its own
        x = nd.ones((SIZE,)) * 2
        x.wait_to_read()
        for _ in range(steps):
            x = x + 1
        assert x[:1].asnumpy().tolist() == [2 + steps]
        sizes.append(len(donation._pairings))
    assert max(sizes) == 3
    executable_cache.forget_older_half()
    assert not donation._pairings, "dropped with the programs"


@pytest.mark.usefixtures("only_own_arrays")
@pytest.mark.parametrize("rule, states", [("sgd", 0), ("adam", 2)])
def test_an_update_needs_no_second_copy(rule: str, states: int) -> None:
    before = live_bytes()
    options = {"learning_rate": 0.1}
    parameters = {}
    for i in range(4):
        parameters[f"w{i}"] = each = Parameter(f"w{i}", shape=(SIZE,))
        each.initialize(mx.init.One())
    trainer = Trainer(parameters, rule, options)

    def step() -> None:
        with autograd.record():
            loss = sum((each.data() * 2).sum() for each in parameters.values())
        loss.backward()
        trainer.step(1)
        nd.waitall()

    step()
    step()
    mx.runtime.reset_counters()
    buffers = {p.data()._value.array.unsafe_buffer_pointer() for p in parameters.values()}
    step()
    after = {p.data()._value.array.unsafe_buffer_pointer() for p in parameters.values()}
    donated = mx.runtime.counters()["donated_bytes"]
    # Parameters, gradients and states are updated in place.
    assert donated >= 4 * SIZE * 4 * (1 + states)
    assert buffers == after
    expected = 4 * SIZE * 4 * (2 + states)
    assert live_bytes() - before <= expected * 1.01


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["add", "write", "view", "reshape", "keep", "read", "drop", "copy", "mul"]),
        st.integers(0, 7),
    ),
    max_size=25,
)


@given(ACTIONS)
@settings(max_examples=120, deadline=None)
def test_referenced_arrays_are_never_donated(actions: list) -> None:
    shape = (128, 64)  # large enough to be donated
    arrays = [nd.array(np.full(shape, i, np.float32)) for i in range(2)]
    truth = [np.full(shape, i, np.float32) for i in range(2)]
    stored: list[tuple] = []  # JAX arrays that the user references, and their contents
    for action, number in actions:
        i = number % len(arrays)
        if action == "add":
            arrays[i] += number
            truth[i] += number
        elif action == "mul":
            arrays[i][:] = arrays[i] * 0.5
            truth[i][:] = truth[i] * np.float32(0.5)
        elif action == "write":
            arrays[i][number * 3] = number
            truth[i][number * 3] = number
        elif action == "view" and truth[i].ndim == 2:
            arrays.append(arrays[i][0:64])
            truth.append(truth[i][0:64])
        elif action == "reshape" and truth[i].size == 128 * 64:
            arrays.append(arrays[i].reshape((64, 128)))
            truth.append(truth[i].reshape(64, 128))
        elif action == "keep":
            stored.append((arrays[i].__jax_array__(), truth[i].copy()))
        elif action == "read":
            np.testing.assert_array_equal(arrays[i].asnumpy(), truth[i])
        elif action == "copy":
            arrays.append(arrays[i].copy())
            truth.append(truth[i].copy())
        elif action == "drop" and len(arrays) > 1:
            del arrays[i], truth[i]
        if number == 7:
            nd.waitall()
    for array, expected in zip(arrays, truth, strict=True):
        np.testing.assert_array_equal(array.asnumpy(), expected)
    for raw, expected in stored:
        assert not raw.is_deleted()
        np.testing.assert_array_equal(np.asarray(raw), expected)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_program_that_fails_before_it_runs_loses_nothing(
    compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise MemoryError("Unable to allocate 1.00 TiB")

    weight = nd.ones((256, 256))
    weight.wait_to_read()
    with monkeypatch.context() as patch:
        patch.setattr(patience, "_on", not compiled)
        patch.setattr(executable_cache, "_compiled", fail)
        patch.setattr(interpret.Interpreter, "_stepwise", fail)
        weight *= 3
        with pytest.raises(mx.MXNetError, match=r"Unable to allocate 1\.00 TiB"):
            weight.wait_to_read()
    np.testing.assert_array_equal(weight.asnumpy(), 1)
    weight *= 3
    np.testing.assert_array_equal(weight.asnumpy(), 3)
