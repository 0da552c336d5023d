"""Functions that MXNet generates from operators: ``out``, ``name`` and their nodes, as in MXNet 1.9.1."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet.base import MXNetError

CALLS: dict[str, tuple[Any, ...]] = {
    "transpose": (),
    "moveaxis": (0, 1),
    "repeat": (2,),
    "roll": (1,),
    "diag": (),
    "diagflat": (),
    "diagonal": (),
    "atleast_1d": (),
    "atleast_2d": (),
    "atleast_3d": (),
    "reshape": ((3, 2),),
    "squeeze": (),
    "cumsum": (0,),
    "copy": (),
    "sum": (0,),
    "trace": (),
}
X = np.array([[0.3, 0.7, 0.2], [0.5, 0.1, 0.9]], dtype=np.float32)


@pytest.mark.parametrize("name", CALLS)
def test_the_result_is_written_to_out(name: str) -> None:
    expected = getattr(np, name)(X, *CALLS[name])
    out = mx.np.full(expected.shape, 7)
    result = getattr(mx.np, name)(mx.np.array(X), *CALLS[name], out=out, name="ignored")
    assert result is out
    np.testing.assert_allclose(out.asnumpy(), expected, rtol=1e-6)
    wrong = mx.np.zeros((5, 5))
    with pytest.raises(MXNetError, match="shape"):
        getattr(mx.np, name)(mx.np.array(X), *CALLS[name], out=wrong)


def test_counts_as_an_array_repeat_into_out() -> None:
    out = mx.np.zeros((3, 3))
    repeat: Any = mx.np.repeat
    repeat(mx.np.array(X), [1, 2], axis=0, out=out)
    np.testing.assert_array_equal(out.asnumpy(), X[[0, 1, 1]])


def test_several_arrays_are_written_to_several() -> None:
    outs = [mx.np.zeros((1,)), mx.np.zeros((2, 3))]
    mx.np.atleast_1d(mx.np.array(4.0), mx.np.array(X), out=outs)
    assert outs[0].tolist() == [4.0]
    np.testing.assert_array_equal(outs[1].asnumpy(), X)


def nodes(symbol: Any) -> list[tuple[Any, ...]]:
    rows = json.loads(symbol.tojson())["nodes"]
    return [(row["op"], row["name"], row.get("attrs")) for row in rows if row["op"] != "null"]


# What MXNet's own files hold: the attributes that the call states, spelled as in the call.
@pytest.mark.parametrize(
    ("name", "args", "node"),
    [
        ("sum", (), ("_np_sum", "sum0", None)),
        ("sum", (1,), ("_np_sum", "sum0", {"axis": "1"})),
        ("transpose", (), ("_np_transpose", "transpose0", None)),
        ("moveaxis", (0, 1), ("_np_moveaxis", "moveaxis0", {"destination": "1", "source": "0"})),
        ("roll", (1,), ("_np_roll", "roll0", {"shift": "1"})),
        ("repeat", (2,), ("repeat", "repeat0", {"repeats": "2"})),
        ("reshape", ((1, 2),), ("_np_reshape", "reshape0", {"newshape": "(1, 2)"})),
        ("atleast_2d", (), ("_np_atleast_2d", "atleast_2d0", {"num_args": "1"})),
        ("cumsum", (), ("_np_cumsum", "cumsum0", None)),
        ("around", (), ("_npi_around", "around0", {"decimals": "0"})),
        ("squeeze", (0,), ("_np_squeeze", "squeeze0", {"axis": "0"})),
        ("mean", (), ("_npi_mean", "mean0", {"axis": "None", "keepdims": "False"})),
        ("linalg.det", (), ("_linalg_det", "det0", None)),
        ("linalg.slogdet", (), ("_linalg_slogdet", "slogdet0", None)),
    ],
)
def test_nodes_state_what_the_call_states(name: str, args: tuple[Any, ...], node: Any) -> None:
    with mx.name.NameManager():
        function: Any = mx.sym.np
        for part in name.split("."):
            function = getattr(function, part)
        result = function(mx.sym.var("a").as_np_ndarray(), *args)
        assert nodes(result[0] if isinstance(result, list) else result) == [node]


def test_a_node_has_the_name_and_the_attributes_of_its_call() -> None:
    a = mx.sym.var("a").as_np_ndarray()
    symbol = mx.sym.np.sum(a, dtype="float64", name="total", attr={"__part__": "1"}, out=a)
    assert nodes(symbol) == [("_np_sum", "total", {"__part__": "1", "dtype": "float64"})]
    with pytest.raises(MXNetError, match="unexpected keyword argument 'oops'"):
        mx.sym.np.sum(a, oops=1)


def test_methods_state_the_same_defaults_as_in_mxnet() -> None:
    a = mx.sym.var("a").as_np_ndarray()
    with mx.name.NameManager():
        assert nodes(a.sum()) == [("_np_sum", "sum0", {"axis": "None", "keepdims": "False"})]
        assert nodes(a.sum(1)) == [("_np_sum", "sum1", {"axis": "1", "keepdims": "False"})]
        assert nodes(a.cumsum()) == [("_np_cumsum", "cumsum0", {"axis": "None"})]
        assert nodes(a.round()) == [("_npi_around", "around0", {"decimals": "0"})]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [2, 1]),
        ({"axis": 1}, [[2, 1], [3, 4]]),
        ({"axis": 0, "mode": "clip"}, [[4, 3], [1, 2]]),
        ({"mode": "wrap"}, [2, 1]),
    ],
)
def test_symbols_take_elements(options: dict[str, Any], expected: list[Any]) -> None:
    a, i = (mx.sym.var(name).as_np_ndarray() for name in "ai")
    arrays = {"a": mx.np.array([[1.0, 2], [4, 3]]), "i": mx.np.array([1, 0])}
    symbol = mx.sym.np.take(a, i, **options)
    assert symbol.bind(mx.cpu(), arrays).forward()[0].asnumpy().tolist() == expected


def test_one_determinant_has_no_axes_under_numpy_shapes() -> None:
    symbol = mx.sym.np.linalg.det(mx.sym.var("a").as_np_ndarray())
    matrix = {"a": mx.np.array([[2.0, 1], [1, 2]])}
    for is_on, shape in [(True, ()), (False, (1,))]:
        with mx.util.np_shape(is_on):
            again = mx.sym.load_json(symbol.tojson())
            assert again.infer_shape(a=(2, 2))[1] == [shape]
            result = again.bind(mx.cpu(), matrix).forward()[0]
            assert result.shape == shape and abs(float(result.asnumpy().item()) - 3) < 1e-5
