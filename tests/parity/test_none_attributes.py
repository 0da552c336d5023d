"""An attribute that is None is not one that was left out: which may be None, as MXNet 1.9.1 has it."""

from __future__ import annotations

import json
from typing import Any

import pytest

import mixnet as mx
from mixnet import nd, sym
from mixnet.gluon import nn
from mixnet.ndarray.invoke import invoke_any
from mixnet.ops import OPERATORS
from tests.each_record import each_record
from tests.parity.record_edges import arrays_of, is_numpys, text
from tests.parity.record_none_attributes import FIXTURE, questions

COMPUTES = json.loads(FIXTURE.read_text())
DIFFER = {
    ("slice_like", "axes"): "MXNet returns the whole array",
    ("LinearRegressionOutput", "grad_scale"): "MXNet refuses it only where it trains",
    ("MAERegressionOutput", "grad_scale"): "MXNet refuses it only where it trains",
    ("LogisticRegressionOutput", "grad_scale"): "MXNet refuses it only where it trains",
}


def computes(question: dict[str, Any]) -> bool:
    """Whether mixnet computes the call."""
    op, numpys = OPERATORS[question["op"]], is_numpys(question["op"])
    attributes = {k: None if v is None else text(v) for k, v in question["attributes"].items()}
    if op.variadic:
        attributes.pop(op.num_args, None)
    with mx.util.np_shape(numpys), mx.autograd.train_mode():
        arrays = [mx.nd.array(each, dtype=each.dtype) for each in arrays_of(question)]
        if numpys:
            arrays = [each.as_np_ndarray() for each in arrays]
        try:
            invoke_any(op, arrays, attributes)
        except mx.MXNetError:
            return False
    return True


def test_every_attribute_accepts_none_as_in_mxnet() -> None:
    calls = [q for q in questions() if q["kind"] in COMPUTES.get(q["op"], {})]
    assert len(calls) > 700
    wrong = [
        f"{q['op']}({q['kind']}=None): MXNet {'computes' if expected else 'refuses'}"
        for q in calls
        if (expected := COMPUTES[q["op"]][q["kind"]]) != computes(q)
        and (q["op"], q["kind"]) not in DIFFER
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("hybridize", [False, True])
def test_the_error_names_the_attribute(hybridize: bool) -> None:
    net = nn.HybridLambda(lambda F, x: F.concat(x, x, dim=None))
    net.hybridize(hybridize)
    with pytest.raises(mx.MXNetError, match="Concat: attribute dim=None is not a whole number"):
        net(nd.ones((2, 3)))


s = sym.var("s")


@pytest.fixture(scope="module", autouse=True)
def _arrays() -> None:
    global x
    x = nd.array([[1, 2], [3, 4]])


@each_record(
    ("call", "message"),
    [
        (lambda: nd.pick(x, nd.array([0, 1]), axis=None), "axis=None is not a whole number"),
        (lambda: x.pick(nd.array([0, 1]), axis=None), "axis=None is not a whole number"),
        (lambda: sym.pick(s, s, axis=None), "axis=None is not a whole number"),
        (lambda: mx.npx.pick(x.as_np_ndarray(), mx.np.array([1]), axis=None), "axis=None"),
        (lambda: nd.moments(x), r"names no axis. Give axes=\(0, 1\)"),
        (lambda: nd.moments(x, axes=None), "names no axis"),
        (lambda: nd.moments(x, axes=()), "names no axis"),
        (lambda: sym.moments(s, axes=None).infer_shape(s=(2, 2)), "names no axis"),
        (lambda: x.transpose(None), "axes=None is not a shape"),
        (lambda: x.transpose(axes=None), "axes=None is not a shape"),
        (lambda: s.transpose(None), "axes=None is not a shape"),
        (lambda: x.transpose(axis=(1, 0)), "axis"),
        (lambda: s.transpose(axis=(1, 0)), "axis"),
        (lambda: nd.random.uniform(shape=None), "shape=None is not a shape"),
        (lambda: nd.random.randint(0, 4, shape=None), "shape=None is not a shape"),
        (lambda: nd.random.normal(nd.ones(2), nd.ones(2), shape=None), "shape=None"),
        (lambda: nd.random.gamma(x, x, shape=None, out=nd.zeros((2, 2))), "shape=None"),
        (lambda: sym.random.poisson(s, shape=None), "shape=None is not a shape"),
    ],
)
def test_operators_refuse_none_where_mxnet_does(call: Any, message: str) -> None:
    with pytest.raises(mx.MXNetError, match=message):
        call()


@each_record(
    ("call", "shape"),
    [
        (lambda: x.transpose(), (2, 2)),
        (lambda: x.transpose(()), (2, 2)),
        (lambda: x.transpose(axes=[]), (2, 2)),
        (lambda: nd.array([1, 2]).transpose(0), (2,)),
        (lambda: x.as_np_ndarray().transpose(None), (2, 2)),
        (lambda: nd.random.uniform(), (1,)),
        (lambda: nd.random.uniform(shape=None, out=nd.zeros(3)), (3,)),
        (lambda: nd.random.randint(0, 4, shape=None, out=nd.zeros(3, dtype="int32")), (3,)),
        (lambda: nd.random.normal(nd.ones(2), nd.ones(2)), (2,)),
        (lambda: nd.random.multinomial(nd.array([0.5, 0.5]), shape=None), (1,)),
        (lambda: sym.random.uniform(s, s).eval(s=x)[0], (2, 2)),
    ],
)
def test_calls_that_mxnet_computes_are_computed(call: Any, shape: tuple[int, ...]) -> None:
    assert call().shape == shape


@each_record(
    "call",
    [
        lambda: nd.softmax(x, dtype=None),
        lambda: x.softmax(dtype=None),
        lambda: nd.cast(x, dtype=None),
        lambda: nd.one_hot(nd.array([1]), 2, dtype=None),
        lambda: nd.topk(x, dtype=None),
        lambda: nd.arange(3, dtype=None),
        lambda: nd.linspace(0, 1, 3, dtype=None),
        lambda: nd.random.uniform(dtype=None),
        lambda: sym.log_softmax(sym.var("x"), dtype=None).eval(x=x)[0],
        lambda: sym.random.normal(shape=(2,), dtype=None).eval()[0],
    ],
)
def test_dtype_none_is_numpys_default(call: Any) -> None:
    assert call().asnumpy().dtype == "float64"


def test_dtype_none_of_functions_with_a_default() -> None:
    values = [nd.zeros(2, dtype=None), nd.eye(2, dtype=None), nd.array([1], dtype=None)]
    values += [nd.full(2, 3, dtype=None), mx.np.zeros(2, dtype=None), mx.np.arange(2, dtype=None)]
    values += [mx.npx.softmax(mx.np.ones(2), dtype=None), x.astype(None)]
    assert {each.asnumpy().dtype.name for each in values} == {"float32"}
    assert sym.softmax(sym.var("x"), dtype=None).list_attr() == {"dtype": "float64"}
