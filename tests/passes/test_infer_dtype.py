"""Dtypes of arguments and results follow as in MXNet 1.9.1, which gave the numbers here."""

from __future__ import annotations

import numpy as np
import pytest

import mixnet as mx

V = mx.sym.Variable


def ranges(*names: str) -> dict[str, mx.sym.Symbol]:
    return {f"{end}_{name}": V(f"{end}_{name}") for name in names for end in ("min", "max")}


FC = mx.sym.contrib.quantized_fully_connected(
    V("a"), V("w"), V("b"), **ranges("data", "weight", "bias"), num_hidden=2
)
FC_WITHOUT_BIAS = mx.sym.contrib.quantized_fully_connected(
    V("a"), V("w"), **ranges("data", "weight"), num_hidden=2, no_bias=True
)
CONV = mx.sym.contrib.quantized_conv(
    V("a"), V("w"), V("b"), **ranges("data", "weight", "bias"), num_filter=2, kernel=(1, 1)
)
F32 = "float32"


QUANTIZED_RNN = mx.sym.contrib.quantized_rnn(
    *map(V, ("a", "w", "h", "c", "scale", "shift")), state_size=2, num_layers=1, mode="lstm"
)


@pytest.mark.parametrize(
    ("symbol", "dtype", "arguments", "outputs", "states"),
    [
        (mx.sym.BatchNorm(V("a")), "float16", ["float16", F32, F32], ["float16"], [F32] * 2),
        (mx.sym.BatchNorm(V("a")), "float64", ["float64"] * 3, ["float64"], ["float64"] * 2),
        (mx.sym.LayerNorm(V("a")), "float16", ["float16"] * 3, ["float16"], []),
        (mx.sym.FullyConnected(V("a"), num_hidden=2), "float16", ["float16"] * 3, ["float16"], []),
        (mx.sym.SoftmaxOutput(V("a")), "float64", ["float64"] * 2, ["float64"], []),
        (mx.sym.Embedding(V("a"), input_dim=3, output_dim=2), "int32", ["int32", F32], [F32], []),
        (
            mx.sym.Embedding(V("a"), input_dim=3, output_dim=2, dtype="float16"),
            "int32",
            ["int32", "float16"],
            ["float16"],
            [],
        ),
        (mx.sym.batch_take(V("a"), V("b")), "float16", ["float16", "int32"], ["float16"], []),
        (mx.sym.gather_nd(V("a"), V("b")), "float16", ["float16", None], ["float16"], []),
        (mx.sym.where(V("a"), V("b"), V("c")), "int8", ["int8", None, None], [None], []),
        (mx.sym.CTCLoss(V("a"), V("b")), "float64", ["float64", None], ["float64"], []),
        (mx.sym.shape_array(V("a")), "float16", ["float16"], ["int64"], []),
        (
            mx.sym.contrib.quantize(V("a"), V("b"), V("c"), out_type="uint8"),
            F32,
            [F32] * 3,
            ["uint8", F32, F32],
            [],
        ),
        (
            mx.sym.contrib.quantize_v2(V("a"), out_type="int8"),
            F32,
            [F32],
            ["int8", F32, F32],
            [],
        ),
        (mx.sym.contrib.dequantize(V("a"), V("b"), V("c")), "int8", ["int8", F32, F32], [F32], []),
        (
            mx.sym.contrib.requantize(V("a"), V("b"), V("c")),
            "int32",
            ["int32", F32, F32],
            ["int8", F32, F32],
            [],
        ),
        (FC, "int8", ["int8"] * 3 + [F32] * 6, ["int32", F32, F32], []),
        (FC, "uint8", ["uint8", "int8", "int8"] + [F32] * 6, ["int32", F32, F32], []),
        (FC_WITHOUT_BIAS, "int8", ["int8"] * 2 + [F32] * 4, ["int32", F32, F32], []),
        (CONV, "uint8", ["uint8", "int8", "int8"] + [F32] * 6, ["int32", F32, F32], []),
        (mx.sym.contrib.quantize_asym(V("a")), F32, [F32], ["uint8", F32, F32], []),
        (QUANTIZED_RNN, "uint8", ["uint8"] + [F32] * 5, [F32], []),
        (mx.sym.contrib.getnnz(V("a")), F32, [F32], ["int64"], []),
    ],
    ids=lambda value: value.name if isinstance(value, mx.sym.Symbol) else None,
)
def test_dtypes_are_inferred_as_in_mxnet(
    symbol: mx.sym.Symbol, dtype: str, arguments: list, outputs: list, states: list
) -> None:
    actual = symbol.infer_type_partial(**{symbol.list_arguments()[0]: dtype})
    named = [[each and np.dtype(each).name for each in part] for part in actual]
    assert named == [arguments, outputs, states]


def test_parameters_of_a_quantized_layer_are_bound_as_int8() -> None:
    executor = FC.simple_bind(mx.cpu(), grad_req="null", type_dict={"a": "int8"}, a=(2, 3))
    dtypes = {name: array.dtype for name, array in executor.arg_dict.items()}
    assert dtypes["a"] == dtypes["w"] == dtypes["b"] == np.int8
    assert dtypes["min_data"] == dtypes["max_bias"] == np.float32
    executor.arg_dict["a"][:] = np.arange(6).reshape(2, 3)
    executor.arg_dict["w"][:] = np.full((2, 3), -2)
    for name in ("data", "weight", "bias"):
        executor.arg_dict[f"min_{name}"][:] = -1
        executor.arg_dict[f"max_{name}"][:] = 1
    total, _, _ = executor.forward()
    assert total.dtype == np.int32
    np.testing.assert_array_equal(total.asnumpy(), [[-6, -6], [-24, -24]])


def test_an_index_does_not_decide_about_the_data() -> None:
    y = mx.sym.take(mx.sym.exp(V("a")), V("i"))
    actual, outputs, _ = y.infer_type_partial(i="int32")
    assert actual == [None, np.int32]
    assert outputs == [None]
    actual, outputs, _ = y.infer_type_partial(a="float16", i="int32")
    assert actual == [np.float16, np.int32]
    assert outputs == [np.float16]


def test_shapes_of_a_number_minus_an_array_need_no_dtypes() -> None:
    """The dtype that is assumed for the array is that of the result."""
    gate = mx.sym.sigmoid(mx.sym.var("x"))
    state = (1.0 - gate) * mx.sym.var("y")
    assert state.infer_shape(x=(2, 3), y=(2, 3))[1] == [(2, 3)]


def test_shapes_of_a_quantized_lstm_need_no_dtypes() -> None:
    shapes = {
        "a": (3, 2, 3),
        "w": (56,),
        "h": (1, 2, 2),
        "c": (1, 2, 2),
        "scale": (1,),
        "shift": (1,),
    }
    assert QUANTIZED_RNN.infer_shape(**shapes) == (list(shapes.values()), [(3, 2, 2)], [])


# By MXNet 1.9.1.
OF_TWO_DTYPES = [
    ("add", "int8", "int32", "int32"),
    ("subtract", "bool", "int32", "int32"),
    ("mod", "int8", "int32", "int32"),
    ("power", "int32", "int8", "int32"),
    ("multiply", "bool", "float16", "float16"),
    ("true_divide", "int8", "int32", "float32"),
    ("true_divide", "bool", "bool", "float32"),
    ("true_divide", "float16", "float32", "float32"),
]


@pytest.mark.parametrize(("name", "left", "right", "expected"), OF_TWO_DTYPES)
def test_arithmetic_of_numpy_promotes(name: str, left: str, right: str, expected: str) -> None:
    x, y = (mx.sym.var(each).as_np_ndarray() for each in "xy")
    result = getattr(mx.sym.np, name)(x, y)
    assert result.infer_type(x=left, y=right)[1] == [np.dtype(expected).type]


@pytest.mark.parametrize(
    ("number", "dtype", "behind", "before"),
    [
        (1, "bool", "int64", "float64"),
        (1, "int8", "int8", "float64"),
        (1.5, "int32", "float64", "float64"),
        (1.5, "float16", "float16", "float16"),
    ],
)
def test_a_number_beside_an_array_of_numpy(
    number: float, dtype: str, behind: str, before: str
) -> None:
    x = mx.sym.var("x").as_np_ndarray()
    for result in (x + number, x % number, x**number):
        assert result.infer_type(x=dtype)[1] == [np.dtype(behind).type]
    assert (number - x).infer_type(x=dtype)[1] == [np.dtype(before).type]
