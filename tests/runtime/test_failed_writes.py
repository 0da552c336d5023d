"""Arrays that a failing operation was to replace keep their contents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.base import MXNetError
from mixnet.runtime.record.record import flush


@pytest.fixture
def fails() -> list[bool]:
    """Whether the operator ``fails_when_asked``, which passes its input on, fails."""
    switch = [False]

    class Operator(mx.operator.CustomOp):
        def forward(self, is_train: Any, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
            if switch[0]:
                raise ValueError("as asked")
            self.assign(out_data[0], req[0], in_data[0])

        def backward(self, *args: Any) -> None:
            self.assign(args[4][0], args[0][0], args[1][0])

    @mx.operator.register("fails_when_asked")
    class Property(mx.operator.CustomOpProp):
        def create_operator(self, *_: Any) -> Operator:
            return Operator()

    return switch


def failing(x: nd.NDArray) -> nd.NDArray:
    return nd.Custom(x, op_type="fails_when_asked")


def test_the_first_reader_gets_the_error_and_the_old_content_returns(fails: list[bool]) -> None:
    x = nd.ones((2,))
    fails[0] = True
    x += failing(nd.ones((2,)))
    with pytest.raises(MXNetError, match="as asked"):
        x.asnumpy()
    assert x.asnumpy().tolist() == [1, 1]
    fails[0] = False
    x += failing(nd.ones((2,)))
    assert x.asnumpy().tolist() == [2, 2]


def test_a_new_array_stays_failed(fails: list[bool]) -> None:
    fails[0] = True
    y = failing(nd.ones((2,))) + 1
    for _ in range(2):
        with pytest.raises(MXNetError, match="as asked"):
            y.asnumpy()


def test_of_several_writes_those_before_the_error_persist(fails: list[bool]) -> None:
    x = nd.ones((2,))
    fails[0] = True
    bad = failing(nd.ones((2,)))
    x += 1
    x += bad
    x *= 3
    with pytest.raises(MXNetError, match="as asked"):
        bad.asnumpy()
    assert x.asnumpy().tolist() == [2, 2]


def test_over_several_programs(fails: list[bool]) -> None:
    x = nd.ones((2,))
    fails[0] = True
    bad = failing(nd.ones((2,)))
    for _ in range(3):
        x += bad
        flush()
    with pytest.raises(MXNetError, match="as asked"):
        x.asnumpy()
    assert x.asnumpy().tolist() == [1, 1]


def test_a_write_to_a_part(fails: list[bool]) -> None:
    x = nd.arange(4)
    fails[0] = True
    x[1:3] = failing(nd.ones((2,)))
    with pytest.raises(MXNetError, match="as asked"):
        x.asnumpy()
    assert x.asnumpy().tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("optimizer", ["nag", "rmsprop"])
def test_training_continues_after_an_error(
    fails: list[bool], optimizer: str, hybridize: bool
) -> None:
    class Layer(gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return F.Custom(x, op_type="fails_when_asked")

    def make() -> tuple[gluon.Block, gluon.Trainer]:
        net = gluon.nn.HybridSequential()
        net.add(Layer(), gluon.nn.Dense(3, in_units=2), gluon.nn.BatchNorm(in_channels=3))
        net.add(gluon.nn.Dense(1, in_units=3))
        net.initialize(mx.init.One())
        if hybridize:
            net.hybridize()
        return net, gluon.Trainer(net.collect_params(), optimizer, {"learning_rate": 0.01})

    x = nd.array(np.random.default_rng(0).normal(size=(4, 2)))

    def step(net: gluon.Block, trainer: gluon.Trainer) -> nd.NDArray:
        with autograd.record():
            loss = (net(x) ** 2).sum()
        loss.backward()
        trainer.step(4)
        return loss

    net, trainer = make()
    other, other_trainer = make()
    step(net, trainer).asnumpy()
    fails[0] = True
    for _ in range(2):
        with pytest.raises(MXNetError, match="as asked"):
            step(net, trainer).asnumpy()
    fails[0] = False
    step(net, trainer).asnumpy()
    for _ in range(2):
        step(other, other_trainer).asnumpy()
    pairs = zip(net.collect_params().values(), other.collect_params().values(), strict=True)
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours.data().asnumpy(), theirs.data().asnumpy(), rtol=1e-5)
