"""Lazy execution: programs and arrays are cached, reused and freed; naive and lazy results agree."""

from __future__ import annotations

import gc
import os
import sys

import jax
import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.runtime.programs import executable_cache
from tests import processes


def live_bytes() -> int:
    gc.collect()
    return sum(each.nbytes for each in jax.live_arrays())


def compiled() -> int:
    return mx.runtime.counters()["programs_compiled"]


def test_nothing_runs_until_a_value_is_needed() -> None:
    mx.runtime.reset_counters()
    x = nd.ones((2, 3)) * 2 + 1
    assert x.shape == (2, 3) and x.to_dict()["state"] == "pending"
    assert mx.runtime.counters()["operations"] == 0
    assert x.sum().asscalar() == 18
    assert mx.runtime.counters()["operations"] == 4


def test_changing_numbers_compile_a_bounded_number_of_programs() -> None:
    x = nd.ones((4,))
    x.wait_to_read()
    mx.runtime.reset_counters()
    for i in range(50):
        y = (x * i + 0.1 * i) / (i + 1) - i
        y[:] = y + i
        y.wait_to_read()
    assert compiled() <= 3


def make_step():
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(64, activation="relu"), gluon.nn.BatchNorm(), gluon.nn.Dense(3))
    net.initialize()
    options = {"learning_rate": 0.1, "momentum": 0.9}
    trainer = gluon.Trainer(net.collect_params(), "sgd", options)
    x, y = nd.random.normal(shape=(16, 100)), nd.zeros((16,))
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()

    def step(i: int):
        trainer.set_learning_rate(0.1 / (1 + i))
        with autograd.record():
            loss = loss_of(net(x), y)
        loss.backward()
        trainer.step(16)
        return loss

    return net, step


@pytest.mark.usefixtures("compiling_at_once", "only_own_arrays")
@pytest.mark.parametrize("hybridize", [False, True])
def test_hundreds_of_steps_hold_no_more_bytes_and_compile_nothing_new(hybridize: bool) -> None:
    net, step = make_step()
    if hybridize:
        net.hybridize()
    for i in range(10):
        step(i).wait_to_read()
    nd.waitall()
    bytes_before, programs_before = live_bytes(), compiled()
    for i in range(300):
        step(i)
    nd.waitall()
    assert live_bytes() <= bytes_before
    assert compiled() == programs_before


@pytest.mark.usefixtures("compiling_at_once")
def test_unreferenced_buffers_are_reused() -> None:
    x = nd.ones((256, 256))
    x.wait_to_read()
    mx.runtime.reset_counters()
    for _ in range(3):
        x += 1
        x.wait_to_read()
    assert mx.runtime.counters()["donated_bytes"] == 3 * 256 * 256 * 4


def test_a_buffer_with_another_handle_is_never_reused() -> None:
    x = nd.ones((256, 256))
    view = x[0:128]
    copy = x.copy()
    x.wait_to_read()
    before = view.asnumpy()
    x += 1
    x.wait_to_read()
    np.testing.assert_array_equal(copy.asnumpy(), 1)
    np.testing.assert_array_equal(before, 1)
    np.testing.assert_array_equal(view.asnumpy(), 2)  # the view sees the write


def test_a_dead_result_is_not_computed() -> None:
    x = nd.ones((2, 2))
    y = x + 1
    y = x * 3
    assert y.asnumpy().sum() == 12


def test_a_chain_of_10000_operations_is_computed() -> None:
    x = nd.zeros((3,))
    for _ in range(10_000):
        x = x + 1
    np.testing.assert_array_equal(x.asnumpy(), 10_000)


def test_threads_record_separately() -> None:
    from concurrent.futures import ThreadPoolExecutor

    shared = nd.ones((8,)) * 2

    def work(i: int) -> float:
        x = shared
        for _ in range(20):
            x = x + i
        return x.sum().asscalar()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(40))) == [16 + 160 * i for i in range(40)]


PROGRAM = """
import numpy as np, mixnet as mx
from mixnet import nd, autograd
mx.random.seed(3)
x = nd.random.normal(shape=(8, 8)); x.attach_grad()
w = nd.random.uniform(shape=(8, 8))
with autograd.record():
    y = nd.softmax(nd.dot(x, w) * 2 + nd.Dropout(x, p=0.5), axis=1)
    loss = (nd.tanh(y) * w).sum()
loss.backward()
a = nd.arange(8); a[2:4] = 7; a += a.reshape((2, 4)).sum()
np.savez(OUT, loss=loss.asnumpy(), grad=x.grad.asnumpy(), a=a.asnumpy(), w=w.asnumpy())
"""


def test_naive_and_lazy_agree(tmp_path) -> None:
    results = []
    for mode in ("NaiveEngine", "ThreadedEnginePerDevice"):
        out = tmp_path / f"{mode}.npz"
        environment = {**os.environ, "MXNET_ENGINE_TYPE": mode}
        program = PROGRAM.replace("OUT", repr(str(out)))
        processes.run([sys.executable, "-c", program], env=environment, check=True, timeout=240)
        results.append(np.load(out))
    naive, lazy = results
    for key in ("w", "a"):
        np.testing.assert_array_equal(naive[key], lazy[key])
    # XLA rounds a product and a sum once where it sees both: a difference of one unit.
    for key in ("loss", "grad"):
        np.testing.assert_allclose(naive[key], lazy[key], rtol=3e-6, atol=1e-7)


def test_a_custom_operator_runs_lazily() -> None:
    @mx.ops.register("test_swish")
    def swish(data, *, beta: float = 1.0):
        """x times the sigmoid of beta x."""
        return data * jax.nn.sigmoid(beta * data)

    x = nd.array([0.5, -1.0])
    x.attach_grad()
    with autograd.record():
        y = nd.test_swish(x, beta=2.0)
    y.backward()
    s = 1 / (1 + np.exp(-2 * x.asnumpy()))
    np.testing.assert_allclose(y.asnumpy(), x.asnumpy() * s, rtol=1e-6)
    np.testing.assert_allclose(x.grad.asnumpy(), s + 2 * x.asnumpy() * s * (1 - s), rtol=1e-5)
    symbol = mx.sym.test_swish(mx.sym.Variable("x"), beta=2.0)
    np.testing.assert_allclose(symbol.eval(x=x)[0].asnumpy(), y.asnumpy(), rtol=1e-6)
    net = gluon.nn.HybridLambda("test_swish")
    net.hybridize()
    np.testing.assert_allclose(net(x).asnumpy(), nd.test_swish(x).asnumpy(), rtol=1e-6)
    with pytest.raises(mx.MXNetError, match="Two operators are named 'relu'"):
        mx.ops.register("relu")(lambda data: data)


def test_the_oldest_programs_are_dropped_from_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    executable_cache.clear()
    monkeypatch.setattr(executable_cache, "MOST_PROGRAMS", 4)
    for extent in range(1, 8):
        for _ in range(2):
            assert (mx.nd.ones(extent) * 3).asnumpy().tolist() == [3] * extent
        assert len(executable_cache._programs) <= 4
