"""The facts about autograd and parameters that MXNet 1.9.1 stated, each as a program."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from tests.each_record import each_record

FACTS = dict(
    json.loads((Path(__file__).parent / "fixtures" / "semantics.json").read_text())["autograd"]
)
DEVIATIONS = {
    "grad of x**3 at 3 with create_graph, then backward of its square: [first, x.grad]": (
        "MXNet has no second derivative of the gradient of a power here; mixnet computes it"
    ),
}


def _x(*values: float) -> Any:
    x = nd.array(list(values))
    x.attach_grad()
    return x


def _square() -> Any:
    x = _x(1, 2)
    with autograd.record():
        y = x * x
    return x, y


def add_twice() -> Any:
    x = nd.array([1.0, 2.0])
    x.attach_grad("add")
    for _ in range(2):
        with autograd.record():
            y = x * x
        y.backward()
    return x.grad


def head_gradient() -> Any:
    x, y = _square()
    y.backward(nd.array([10.0, 1.0]))
    return x.grad


def plain() -> Any:
    x, y = _square()
    y.backward()
    return x.grad


def twice() -> Any:
    _, y = _square()
    y.backward()
    y.backward()


def retained() -> Any:
    x = _x(1.0)
    with autograd.record():
        y = x * x
    y.backward(retain_graph=True)
    y.backward()
    return x.grad


def not_recorded() -> Any:
    (_x(1.0) * 2).backward()


def paused() -> Any:
    x = _x(1, 2)
    with autograd.record():
        y = x * 2
        with autograd.pause():
            z = x * 6
        w = y + z
    w.backward()
    return x.grad


def detached() -> Any:
    x = _x(1, 2)
    with autograd.record():
        y = x.detach() * x
    y.backward()
    return x.grad


def inplace() -> Any:
    x = _x(1, 2)
    with autograd.record():
        x += 1


def assigned() -> Any:
    x = _x(1, 2)
    with autograd.record():
        y = x * 1
        y[0] = 5
    y.backward()


def modes() -> Any:
    def now() -> list[bool]:
        return [autograd.is_recording(), autograd.is_training()]

    result = now()
    with autograd.record():
        result += now()
    with autograd.record(train_mode=False):
        result += now()
    with autograd.train_mode():
        result += now()
    return result


def function() -> Any:
    class Scaled(autograd.Function):
        def forward(self, x: Any) -> Any:
            return x * 2

        def backward(self, dy: Any) -> Any:
            return dy * 25

    x = _x(1.0)
    with autograd.record():
        y = Scaled()(x)
    y.backward()
    return x.grad


def marked() -> Any:
    x, grad = nd.array([1.0, 2.0]), nd.zeros((2,))
    autograd.mark_variables([x], [grad])
    with autograd.record():
        y = x * 3
    autograd.backward([y])
    return grad


def indexed() -> Any:
    x = nd.array([[1.0, 2.0], [3.0, 4.0]])
    x.attach_grad()
    with autograd.record():
        y = x[0] * x[0] + x[1] * nd.array([0, 2])
    y.backward()
    return x.grad


def no_part() -> Any:
    x, other = _x(1.0), _x(1.0)
    with autograd.record():
        y = x * 2
    y.backward()
    return other.grad


def cut() -> Any:
    x = _x(1.0)
    with autograd.record():
        y = x * 3
        y.attach_grad()
        z = y * 2
    z.backward()
    return y.grad


def two_heads() -> Any:
    x = _x(1.0, 1.0)
    with autograd.record():
        a, b = x * 2, x * 3
    autograd.backward([a, b], [None, nd.array([10.0, 10.0])])
    return x.grad


def steps() -> Any:
    x = _x(0.3, -0.7)
    with autograd.record():
        y = nd.sign(x) + nd.floor(x)
    y.backward()
    return x.grad


def blocked() -> Any:
    x = _x(1.0, 2.0)
    x.grad[:] = 7
    with autograd.record():
        y = nd.BlockGrad(x * 2)
    y.backward()
    return x.grad


def uninitialised_data() -> Any:
    gluon.Parameter("w", shape=(2,)).data()


def unknown_shape() -> Any:
    gluon.Parameter("w", shape=(0, 2)).initialize()


def deferred() -> Any:
    parameter = gluon.Parameter("w", shape=(0, 2), allow_deferred_init=True)
    parameter.initialize()
    parameter.data()


def uninitialised_net() -> Any:
    gluon.nn.Dense(2)(nd.ones((1, 2)))


def initialised_twice() -> Any:
    parameter = gluon.Parameter("w", shape=(2,))
    parameter.initialize(mx.init.One())
    with warnings.catch_warnings(record=True) as actual:
        warnings.simplefilter("always")
        parameter.initialize(mx.init.Zero())
    assert actual, "it warns"
    assert parameter.data().asnumpy().tolist() == [1, 1]
    return "warns, keeps the values"


def null_request() -> Any:
    x = nd.array([1.0])
    x.attach_grad("null")
    with autograd.record():
        y = x * 2
    y.backward()


def stale() -> Any:
    net = gluon.nn.Dense(1, in_units=1)
    net.initialize()
    gluon.Trainer(net.collect_params(), "sgd").step(1)


PROGRAMS: dict[str, Callable[[], Any]] = {
    'attach_grad("null"), backward': null_request,
    "Trainer.step without backward": stale,
    "x*x, backward: grad": plain,
    "grad_req add, twice": add_twice,
    "head gradient [10,1]": head_gradient,
    "backward twice without retain_graph": twice,
    "retain_graph, then again (grad_req write)": retained,
    "backward of something not recorded": not_recorded,
    "pause inside record: w = 2x + paused(6x)": paused,
    "x.detach()*x": detached,
    "x += 1 on a variable with grad inside record": inplace,
    "y = x*1; y[0]=5 inside record, then backward": assigned,
    "[recording, training] outside, record(), record(train_mode=False), train_mode()": modes,
    "autograd.Function with a backward scaled by 100": function,
    "mark_variables + autograd.backward": marked,
    "indexing under record": indexed,
    "grad of an array that took no part (was zeros)": no_part,
    "attach_grad again in the middle cuts the graph": cut,
    "backward of two heads, heads grads [None, 10s]: 2 + 30": two_heads,
    'str(Parameter("w",shape=(2,)))': lambda: str(gluon.Parameter("w", shape=(2,))),
    "Parameter.data() before initialize": uninitialised_data,
    "initialize with unknown shape, no deferral": unknown_shape,
    "data() while deferred": deferred,
    "call of an uninitialised net": uninitialised_net,
    "initialize twice without force_reinit": initialised_twice,
    "gradient of sign + floor": steps,
    "grad buffer (7s) after a backward through BlockGrad only": blocked,
}


def test_every_fact_has_a_program() -> None:
    assert set(PROGRAMS) | set(DEVIATIONS) == set(FACTS)


@each_record("name", PROGRAMS)
def test_a_fact_holds(name: str) -> None:
    fact = FACTS[name]
    if isinstance(fact, str) and fact.startswith("raises "):
        with pytest.raises(Exception) as raised:
            PROGRAMS[name]()
        names = [cls.__name__ for cls in type(raised.value).__mro__]
        assert fact.removeprefix("raises ") in names
        return
    actual = PROGRAMS[name]()
    if hasattr(actual, "asnumpy"):
        assert actual.asnumpy().tolist() == fact
    else:
        assert actual == fact
