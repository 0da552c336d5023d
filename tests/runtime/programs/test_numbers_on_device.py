"""Numbers that repeat from run to run stay on the device."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.runtime.programs.numbers_on_device import NumbersOnDevice


def test_are_transferred_when_they_repeat() -> None:
    numbers, context = NumbersOnDevice(), mx.cpu()
    assert numbers.array_of([0.1, 2.0], context) is None
    known = numbers.array_of([0.1, 2.0], context)
    assert known is not None
    assert known.dtype == np.float64
    np.testing.assert_array_equal(np.asarray(known), [0.1, 2.0])
    assert numbers.array_of([0.1, 2.0], context) is known
    assert numbers.array_of([0.1, 3.0], context) is None  # others replace them
    assert numbers.array_of([0.1, 2.0], context) is None


def test_of_programs_without_numbers() -> None:
    numbers = NumbersOnDevice()
    assert numbers.array_of([], mx.cpu()) is None
    known = numbers.array_of([], mx.cpu())
    assert known is not None
    assert known.shape == (0,)


@pytest.mark.parametrize("other", [0.0, float("nan")])
def test_are_compared_bit_by_bit(other: float) -> None:
    numbers, context = NumbersOnDevice(), mx.cpu()
    for value in (-0.0, -0.0, other, other, -0.0):
        known = numbers.array_of([value], context)
        if known is not None:
            assert np.asarray(known).tobytes() == np.array([value]).tobytes()


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_results_follow_the_numbers(dtype: str) -> None:
    x = nd.array([3, 2**20], dtype=dtype)
    x.wait_to_read()
    for number in (2, 2, 2, 5, 5, 2, 5):
        result = x * number + number
        assert result.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(
            result.asnumpy(), x.asnumpy() * number + np.dtype(dtype).type(number)
        )


@pytest.mark.usefixtures("compiled")
def test_signed_zero() -> None:
    one = nd.ones((1,))
    one.wait_to_read()
    for zero in (0.0, 0.0, 0.0, -0.0, -0.0, 0.0):
        assert (1 / (one * zero)).asscalar() == (np.inf if str(zero) == "0.0" else -np.inf)


@pytest.mark.usefixtures("compiled")
def test_in_several_threads() -> None:
    wrong: list[tuple[int, int]] = []

    def work(number: int) -> None:
        x = nd.ones((4,))
        for i in range(50):
            factor = number + i // 5
            if (x * factor + 1).asnumpy().tolist() != [factor + 1] * 4:
                wrong.append((number, i))

    threads = [threading.Thread(target=work, args=(100 * k,)) for k in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    assert not wrong


@mx.operator.register("tripled")
class Tripled(mx.operator.CustomOpProp):
    """Three times an array, in Python."""

    def __init__(self) -> None:
        super().__init__(need_top_grad=True)

    def create_operator(self, *_: object) -> mx.operator.CustomOp:
        class Triple(mx.operator.CustomOp):
            def forward(self, is_train, req, in_data, out_data, aux) -> None:  # type: ignore[no-untyped-def]
                self.assign(out_data[0], req[0], in_data[0] * 3)

            def backward(self, req, out_grad, in_data, out_data, in_grad, aux) -> None:  # type: ignore[no-untyped-def]
                self.assign(in_grad[0], req[0], out_grad[0] * 3)

        return Triple()


@pytest.mark.usefixtures("compiled")
def test_python_within_programs_keeps_64_bits() -> None:
    class Net(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.Custom(x + 1, op_type="tripled") * 2

    net = Net()
    net.hybridize()
    x = nd.array([1 / 3, 2**-30], dtype="float64")
    x.attach_grad()
    for _ in range(4):
        with autograd.record():
            y = net(x)
        y.backward()
        np.testing.assert_array_equal(y.asnumpy(), (np.array([1 / 3, 2**-30]) + 1) * 3 * 2)
        np.testing.assert_array_equal(x.grad.asnumpy(), [6, 6])


@pytest.fixture
def compiled() -> Iterator[None]:
    """Programs are compiled at their first run."""
    with mx.runtime.compiling_at_once():
        yield
