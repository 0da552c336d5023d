"""Errors of a hybridized forward are reported once, with the user's line; code that symbols cannot run
runs on arrays.
"""

from __future__ import annotations

import traceback
from typing import Any

import numpy as np
import pytest

from mixnet import MXNetError, gluon, nd
from tests.each_record import each_record


class Counting(gluon.HybridBlock):
    """Counts how often its code has run."""

    def __init__(self, work: Any):
        super().__init__()
        self.work = work
        self.runs = 0

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        self.runs += 1
        return self.work(F, x)


def fails(F: Any, x: Any) -> Any:
    raise ValueError("mine")


def looks_up(F: Any, x: Any) -> Any:
    return x * {"a": 1}["b"]


def divides(F: Any, x: Any) -> Any:
    return x * (1 / 0)


def asserts(F: Any, x: Any) -> Any:
    assert F is None, "never"


def misnamed(F: Any, x: Any) -> Any:
    return x * undefined  # type: ignore[name-defined]  # noqa: F821


def none(F: Any, x: Any) -> Any:
    return None.real  # type: ignore[attr-defined]


def converts(F: Any, x: Any) -> Any:
    return int("seven") * x


def reads_shape(F: Any, x: Any) -> Any:
    return x.reshape((x.shape[0], -1))


def says_symbol(F: Any, x: Any) -> Any:
    raise TypeError("no Symbol of this name is in the table")


OWN = [
    (says_symbol, TypeError),
    (fails, ValueError),
    (looks_up, KeyError),
    (divides, ZeroDivisionError),
    (asserts, AssertionError),
    (misnamed, NameError),
    (none, AttributeError),
    (converts, ValueError),
]


@each_record(("work", "kind"), OWN, ids=[work.__name__ for work, _ in OWN])
def test_an_error_in_forward_is_reported_once(work: Any, kind: type[Exception]) -> None:
    net = Counting(work)
    net.hybridize()
    for turn in range(1, 3):
        with pytest.raises(kind) as caught:
            net(nd.ones((2, 3)))
        assert net.runs == turn
        assert caught.value.__context__ is None
        frames = traceback.extract_tb(caught.value.__traceback__)
        assert frames[-1].name == work.__name__ and frames[-1].filename == __file__


def test_an_error_disappears_with_its_cause() -> None:
    net = Counting(fails)
    net.hybridize()
    with pytest.raises(ValueError, match="mine"):
        net(nd.ones((2,)))
    net.work = lambda F, x: x * 2
    assert (net(nd.ones((2,))).asnumpy() == 2).all()
    assert net.runs == 2


def test_only_an_inner_block_fails() -> None:
    net = gluon.nn.HybridSequential()
    inner = Counting(fails)
    net.add(gluon.nn.Dense(3), inner)
    net.initialize()
    net.hybridize()
    with pytest.raises(ValueError, match="mine"):
        net(nd.ones((2, 3)))
    assert inner.runs == 1


ARRAYS_ONLY = {
    "shape": lambda F, x: x * x.shape[0],
    "slice": lambda F, x: x[:, 0] if x.ndim else x,
    "size": lambda F, x: x / x.size,
    "nd": lambda F, x: nd.exp(x),
    "array": lambda F, x: x + nd.ones((2, 3)),
    "len": lambda F, x: sum([x] * x.shape[1]),
    "range": lambda F, x: (
        sum(x * i for i in range(len(x[0]))) if hasattr(x, "context") else range(x)
    ),
    "context": lambda F, x: x + F.ones((2, 3), ctx=x.context),
}


@each_record("work", ARRAYS_ONLY.values(), ids=ARRAYS_ONLY)
def test_a_forward_that_symbols_do_not_support_runs_on_arrays(work: Any) -> None:
    net = Counting(work)
    x = nd.array(np.arange(6.0).reshape(2, 3))
    expected = net(x).asnumpy()
    net.hybridize()
    np.testing.assert_allclose(net(x).asnumpy(), expected, rtol=1e-6)
    runs = net.runs
    net(x)
    assert net.runs == runs


def test_a_mistake_in_an_argument_names_the_operator() -> None:
    net = Counting(lambda F, x: F.Pooling(x, kernl=(2, 2)))
    net.hybridize()
    with pytest.raises(TypeError, match="kernl"):
        net(nd.ones((1, 1, 4, 4)))


def test_shapes_that_cannot_be_inferred_are_value_errors() -> None:
    nn = gluon.nn
    layers = (nn.Dense(2), nn.Conv2D(1, 1), nn.BatchNorm(), nn.LayerNorm())
    for layer in layers:  # as MXNet has it where initialization waits for the data
        layer.initialize()
        with pytest.raises(ValueError, match="cannot be inferred"):
            layer([nd.ones((1, 2))])
        with pytest.raises(ValueError, match="cannot be inferred"):
            layer(nd.ones((1, 2)), nd.ones((1, 2)))
    known = nn.Dense(2, in_units=2)
    known.initialize()
    with pytest.raises(AssertionError):
        known([nd.ones((1, 2))])


def test_instance_norm_needs_something_to_average() -> None:
    layer = gluon.nn.InstanceNorm(in_channels=3)
    layer.initialize()
    with pytest.raises(MXNetError, match=r"InstanceNorm takes \(batch, channels, \.\.\.\)"):
        layer(nd.ones((2, 3)))


def test_a_wrong_number_of_inputs_to_a_hybridized_block_is_an_error():
    layer = gluon.nn.Dense(2, in_units=3)
    layer.initialize()
    x = nd.ones((2, 3))
    with pytest.raises(TypeError) as raised:
        layer(x, x)
    assert not isinstance(raised.value, ValueError)
    layer.hybridize()
    layer(x)
    with pytest.raises(ValueError, match=r"called with \(x\), but got 2 inputs"):
        layer(x, x)


@pytest.mark.parametrize("units", [0, 3])
def test_a_sum_that_would_broadcast_is_refused_by_graphs(units: int) -> None:
    """As in MXNet, whose symbols do not broadcast with ``+``; also where shapes are deferred."""

    class Shifted(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            with self.name_scope():
                self.dense = gluon.nn.Dense(2, in_units=units)
                self.shift = self.params.get("shift", shape=(2,), init="ones")

        def hybrid_forward(self, F, x, shift):
            return self.dense(x) + shift

    block = Shifted()
    block.initialize()
    block.hybridize()
    for _ in range(2):
        with pytest.raises(MXNetError, match=r"\(1, 2\) and \(2,\) differ.*broadcast"):
            block(nd.ones((1, 3))).wait_to_read()


DEFERRED = [
    (looks_up, KeyError),
    (divides, ZeroDivisionError),
    (says_symbol, TypeError),
    (reads_shape, AttributeError),
]


@pytest.mark.parametrize("hybrid", [False, True], ids=["plain", "hybridized"])
@each_record(("work", "kind"), DEFERRED, ids=[work.__name__ for work, _ in DEFERRED])
def test_an_error_while_shapes_are_deferred(work: Any, kind: type[Exception], hybrid: bool) -> None:
    """As in MXNet: a ``ValueError`` unless the block is hybridized, and then the code's own error."""

    class Deferred(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.weight = self.params.get("weight", shape=(0,), allow_deferred_init=True)

        def hybrid_forward(self, F: Any, x: Any, weight: Any) -> Any:
            return work(F, x) * weight

    block = Deferred()
    block.initialize()
    if hybrid:
        block.hybridize()
    with pytest.raises(kind if hybrid else ValueError) as caught:
        block(nd.ones((2, 3)))
    if hybrid:
        assert type(caught.value) is kind
    else:
        assert str(caught.value).startswith("Deferred initialization failed because shape")
        assert type(caught.value.__cause__) is kind
