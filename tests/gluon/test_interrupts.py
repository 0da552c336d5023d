"""Interrupted calls of networks: all parameters are as before, or all as afterwards."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from tests.line_interrupts import interrupted, is_all_or_nothing

# Python cannot raise an interrupt in a finalizer; it prints a warning and continues.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def network(units: int = 0) -> gluon.nn.HybridSequential:
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(gluon.nn.Dense(2, in_units=units), gluon.nn.BatchNorm(in_channels=units and 2))
    net.initialize(mx.init.One())
    return net


def content(net: gluon.nn.HybridSequential) -> str:
    data = [each.data() for each in net.collect_params().values()]
    gradients = [each.grad for each in data if each.grad is not None]
    return repr([(each.dtype, each.asnumpy().tolist()) for each in (*data, *gradients)])


def test_an_interrupted_cast_changes_all_parameters_or_none() -> None:
    is_all_or_nothing(partial(network, 3), lambda net: net.cast("float16"), content, 53)


def test_interrupted_loading_changes_all_parameters_or_none(tmp_path: Path) -> None:
    other = network(3)
    other[0].weight.set_data(nd.full((2, 3), 5))
    other[0].bias.set_data(nd.full((2,), 6))
    other.save_parameters(str(tmp_path / "net.params"))
    path = str(tmp_path / "net.params")
    is_all_or_nothing(partial(network, 3), lambda net: net.load_parameters(path), content, 29)


@pytest.mark.parametrize("hybridized", [True, False])
def test_the_first_call_may_be_repeated(hybridized: bool) -> None:
    data = nd.array([[1.0, 2.0, 4.0]])
    expected = (7 / (1 + 1e-5) ** 0.5) * 2

    def first_call(net: gluon.nn.HybridSequential) -> None:
        net.hybridize(hybridized)
        net(data).asnumpy()

    for at in range(1, 100_000, 301):
        net = network()
        place = interrupted(at, ("/mixnet/",), partial(first_call, net))
        assert net(data).sum().asscalar() == pytest.approx(expected), place
        with autograd.record(train_mode=False):
            net(data).sum().backward()
        assert net[0].weight.grad().asnumpy()[0].tolist() == pytest.approx([1, 2, 4], 1e-3), place
        if place is None:
            return


def test_a_parameter_whose_initializer_failed_still_waits_for_its_shape() -> None:
    class Late(mx.init.Initializer):
        ready = False

        def _init_weight(self, name, array):
            if not Late.ready:
                raise ValueError("not yet")
            array[:] = 3

    net = gluon.nn.Dense(2)
    net.initialize(Late())
    with pytest.raises(ValueError, match="not yet"):
        net(nd.ones((1, 2)))
    Late.ready = True
    assert net(nd.ones((1, 2))).asnumpy().tolist() == [[6, 6]]


def test_a_file_that_an_interrupt_left_unwritten_is_read_as_before(tmp_path: Path) -> None:
    path = str(tmp_path / "array.params")
    for at in range(1, 100_000, 43):
        nd.save(path, {"a": nd.ones((2,))})
        place = interrupted(at, ("/mixnet/",), lambda: nd.save(path, {"a": nd.zeros((2,))}))
        assert nd.load(path)["a"].asnumpy().tolist() in ([1, 1], [0, 0]), place
        assert len(list(tmp_path.iterdir())) == 1, place
        if place is None:
            return
