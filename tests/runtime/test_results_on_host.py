"""Results of interpreted programs stay on the host until something other than an interpreter reads them."""

from __future__ import annotations

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, nd
from mixnet.runtime.devices import host_value
from mixnet.runtime.devices.host_value import HostValue
from mixnet.runtime.value.value import Value


def test_results_of_interpreted_programs_are_not_moved_to_a_device() -> None:
    x = nd.array(np.arange(6, dtype=np.float32).reshape(2, 3))
    y = x * 2 + 1
    np.testing.assert_array_equal(y.asnumpy(), [[1, 3, 5], [7, 9, 11]])
    assert type(y._value) is HostValue and y._value.host_array is not None
    z = nd.dot(y, y.T)
    np.testing.assert_array_equal(z.asnumpy(), [[35, 89], [89, 251]])
    assert y._value.host_array is not None  # another interpreted program has read it
    np.testing.assert_array_equal(np.asarray(y._value.array), [[1, 3, 5], [7, 9, 11]])
    assert y._value.host_array is None
    np.testing.assert_array_equal((y - 1).asnumpy(), [[0, 2, 4], [6, 8, 10]])


def test_a_result_equal_to_its_input_has_its_own_memory() -> None:
    x = nd.array(np.ones((3, 4), np.float32)) * 3
    x.wait_to_read()
    reshaped, copy = nd.reshape(x, (4, 3)), nd.identity(x)
    nd.waitall()
    x[:] = 7
    np.testing.assert_array_equal(reshaped.asnumpy(), np.full((4, 3), 3))
    np.testing.assert_array_equal(copy.asnumpy(), np.full((3, 4), 3))
    np.testing.assert_array_equal(x.asnumpy(), np.full((3, 4), 7))


def test_64_bit_dtypes_and_arrays_without_axes_are_preserved() -> None:
    whole = nd.array([2**40, -3], dtype="int64") + 1
    total = (nd.array([0.1, 0.2], dtype="float64") * 3).sum()
    np.testing.assert_array_equal(whole.asnumpy(), [2**40 + 1, -2])
    assert total.dtype == np.float64
    np.testing.assert_allclose(total.asscalar(), 0.9, rtol=1e-15)
    for each in (whole, total):
        assert each._value.array.dtype == each.dtype  # on the device, too


def test_large_results_are_reused_once_programs_are_compiled() -> None:
    weight, expected = nd.ones((256, 256)) * 2, 2.0
    weight.wait_to_read()
    value: Value = weight._value
    assert type(value) is HostValue
    del value
    with mx.runtime.compiling_at_once():
        for _ in range(3):  # each program may reuse the memory of the previous weights
            weight *= 0.5
            weight += 1
            expected = expected * 0.5 + 1
            weight.wait_to_read()
    np.testing.assert_allclose(weight.asnumpy(), np.full((256, 256), expected))


def test_training_continues_when_its_program_is_compiled() -> None:
    x = nd.array(np.linspace(-1, 1, 64 * 40, dtype=np.float32).reshape(64, 40))
    w = nd.full((40, 40), 0.01)
    w.attach_grad()

    def step() -> None:
        with autograd.record():
            loss = ((nd.dot(x, w) - x) ** 2).mean()
        loss.backward()
        w[:] = w - 0.5 * w.grad
        w.wait_to_read()

    for _ in range(3):
        step()
    with mx.runtime.compiling_at_once():
        for _ in range(3):
            step()
    numbers, data = np.full((40, 40), 0.01), x.asnumpy().astype(np.float64)
    for _ in range(6):
        numbers -= 0.5 * 2 * data.T @ (data @ numbers - data) / data.size
    np.testing.assert_allclose(w.asnumpy(), numbers, rtol=1e-4, atol=1e-6)


@pytest.mark.usefixtures("only_own_arrays")
def test_results_on_the_host_count_as_live_memory() -> None:
    before = mx.runtime.live_bytes()
    results = []
    for _ in range(3000):  # more than are registered before dead ones are dropped
        results.append(nd.ones((4,)) * 2)
        results[-1].wait_to_read()
        del results[:-10]
    assert type(results[-1]._value) is HostValue
    assert mx.runtime.live_bytes() - before == 10 * 16
    del results
    assert mx.runtime.live_bytes() == before
    assert len(host_value._live) <= 1001


def test_a_finalizer_may_make_results_while_the_dead_ones_are_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The garbage collector runs finalizers at any line; such a result must not be lost from the list."""
    monkeypatch.setattr(host_value, "_live", [])
    first = nd.ones((4,)) * 2
    first.wait_to_read()
    dead = [nd.ones((4,)) * 3 for _ in range(5)]
    for each in dead:
        each.wait_to_read()
    del dead, each
    results: list[nd.NDArray] = []
    is_on_host = host_value._is_on_host

    def finalizing(value: Value | None) -> bool:
        if not results:
            results.append(nd.ones((4,)) * 4)
            host_value._forget_others()
            results.append(nd.ones((4,)) * 5)
            for each in results:
                each.wait_to_read()
        return is_on_host(value)

    monkeypatch.setattr(host_value, "_is_on_host", finalizing)
    host_value._forget_others()
    live = [reference() for reference in host_value._live]
    for each in (first, *results):
        assert any(value is each._value for value in live)
