"""Ctrl-C before every line of recording: operations recorded before and afterwards are correct.

Run by ``test_interrupts.py``, in a process of its own.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from tests.line_interrupts import interrupted
from tests.waiting import join

# Python cannot raise an interrupt in a finalizer; it prints a warning and continues.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

RECORDING = ("/mixnet/runtime/", "/mixnet/ndarray/", "/mixnet/engine/", "/mixnet/autograd/")
VALUES = np.array([8.0, 15.0, 25.0], "float32")


def at_every_line(work: Callable[[], object], check: Callable[[str], None], stride: int = 1) -> int:
    """Interrupt ``work`` at each of its lines in turn and check after each; returns the number of lines."""
    work()  # compiles its programs and fills the caches of operators
    for at in range(1, 100_000, stride):
        place = interrupted(at, RECORDING, work)
        if place is None:
            return at - 1
        check(place)
    raise AssertionError("too many lines")


def fresh_results_are_right(place: str) -> None:
    b = nd.array(VALUES)
    np.testing.assert_array_equal(((b + 5) * 7 - 1).asnumpy(), (VALUES + 5) * 7 - 1, place)
    np.testing.assert_array_equal((b * 3 + b).asnumpy(), VALUES * 4, place)


@pytest.mark.parametrize("read", [True, False], ids=["read", "pending"])
def test_chain_of_operations(read: bool) -> None:
    earlier: list[nd.NDArray] = []

    def work() -> None:
        b = nd.array(VALUES)
        earlier[:] = [b * 2 - 3]
        result = (b + 5) * 7 - 1
        if read:
            result.asnumpy()

    def check(place: str) -> None:
        for array in earlier:
            np.testing.assert_array_equal(array.asnumpy(), VALUES * 2 - 3, place)
        fresh_results_are_right(place)

    assert at_every_line(work, check) > (100 if read else 50)


def test_many_inputs_and_outputs() -> None:
    def work() -> None:
        b = nd.array(VALUES)
        first, second, third = nd.split(nd.concat(b, b + 1, b * 2, dim=0), num_outputs=3, axis=0)
        (first + second * third).asnumpy()

    assert at_every_line(work, fresh_results_are_right) > 100


def test_updates_in_place_happen_or_do_not() -> None:
    total, whole = nd.zeros((3,)), nd.zeros((2, 3))
    row = whole[1]

    def work() -> None:
        total.__iadd__(1)
        row[:] = row + 1
        whole[0, 1] = 5

    before = [np.zeros(3), np.zeros(3)]

    def check(place: str) -> None:
        for number, array in enumerate((total, row)):
            now = array.asnumpy()
            assert (now == now[0]).all(), place
            assert now[0] - before[number][0] in (0, 1), place
            before[number] = now
        np.testing.assert_array_equal(whole.asnumpy()[1], row.asnumpy(), place)
        fresh_results_are_right(place)

    work()
    check("the first time")
    before[:] = [total.asnumpy() + 1, row.asnumpy() + 1]
    assert at_every_line(work, check) > 100


def test_a_step_of_an_optimizer_writes_all_or_nothing() -> None:
    weight, momentum = nd.zeros((3,)), nd.zeros((3,))
    gradient = nd.ones((3,))

    def work() -> None:
        nd.sgd_mom_update(weight, gradient, momentum, lr=1.0, momentum=1.0, out=weight)

    def check(place: str) -> None:
        # With n steps done the momentum is -n, and the weight the sum of 1 to n.
        steps = -momentum.asnumpy()[0]
        assert weight.asnumpy()[0] == -steps * (steps + 1) / 2, place

    assert at_every_line(work, check) > 100


def test_an_interrupted_backward_writes_all_gradients_or_none() -> None:
    x, y = nd.array(VALUES), nd.array(VALUES + 1)
    x.attach_grad()
    y.attach_grad()
    scale = [1.0]

    def work() -> None:
        scale[0] += 1
        with autograd.record():
            result = (x * y * scale[0]).sum()
        result.backward()

    def check(place: str) -> None:
        factor = x.grad.asnumpy() / (VALUES + 1)
        np.testing.assert_allclose(y.grad.asnumpy(), VALUES * factor, 1e-6, err_msg=place)
        assert not autograd.is_recording(), place
        fresh_results_are_right(place)

    assert at_every_line(work, check) > 200


def hybridized_network(width: int, initializer: mx.init.Initializer) -> gluon.nn.HybridSequential:
    """Two dense layers, initialized."""
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(width, activation="relu", in_units=3), gluon.nn.Dense(1, in_units=width))
    net.initialize(initializer)
    net.hybridize()
    return net


def test_a_training_step_of_a_hybridized_network() -> None:
    net = hybridized_network(4, mx.init.One())
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.0, "momentum": 0.9})
    data = nd.array(VALUES.reshape(1, 3))

    def work() -> None:
        with autograd.record():
            loss = net(data).sum()
        loss.backward()
        trainer.step(1)
        loss.asnumpy()

    def check(place: str) -> None:
        # A learning rate of 0: the weights must be what they were, whatever was interrupted.
        np.testing.assert_array_equal(net(data).asnumpy(), [[4 * VALUES.sum()]], place)
        fresh_results_are_right(place)

    assert at_every_line(work, check, stride=5) > 500  # most lines are those of the tests above


def test_real_interrupts_of_a_training_loop() -> None:
    """120 signals at arbitrary moments: results afterwards are those of an undisturbed process."""
    net = hybridized_network(8, mx.init.Xavier())
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01, "momentum": 0.9})
    data = nd.array(VALUES.reshape(1, 3))
    pause = np.random.default_rng(0)

    def interrupt_soon() -> None:
        time.sleep(float(pause.uniform(0.0005, 0.01)))
        os.kill(os.getpid(), signal.SIGINT)

    def train(sender: threading.Thread) -> None:
        while sender.is_alive():  # an interrupt in a finalizer is dropped: it does not come again
            with autograd.record():
                loss = (net(data) ** 2).sum()
            loss.backward()
            trainer.step(1)
            (loss * 2 + loss).asnumpy()
        time.sleep(0.2)  # or it comes again in a few milliseconds

    for _ in range(120):
        thread = threading.Thread(target=interrupt_soon)
        try:
            thread.start()
            train(thread)
        except KeyboardInterrupt:
            pass
        join(thread)
        fresh_results_are_right("after a signal")
    predicted = net(data).asnumpy()
    weights = [p.data().asnumpy() for p in net.collect_params().values()]
    hidden = np.maximum(VALUES @ weights[0].T + weights[1], 0)
    np.testing.assert_allclose(predicted[0], hidden @ weights[2].T + weights[3], rtol=1e-4)
