"""Operators on integers of 8 bits: near the floats they stand for, their calls and errors."""

from __future__ import annotations

import numpy as np
import pytest

import mixnet as mx
from mixnet import nd
from mixnet.base import AttributeValueError, DTypeError, MXNetError, ShapeError

contrib = nd.contrib


def uniform(*shape: int, low: float = -1) -> nd.NDArray:
    return nd.array(np.random.default_rng(len(shape)).uniform(low, 1, shape))


def quantized(array: nd.NDArray, dtype: str = "int8") -> list[nd.NDArray]:
    return contrib.quantize_v2(array, out_type=dtype)


def number(value: float) -> nd.NDArray:
    return nd.array([value])


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("no_bias", [False, True])
def test_a_quantized_convolution_is_near_the_convolution(dtype: str, no_bias: bool) -> None:
    data, weight, bias = uniform(2, 3, 6, 6, low=0), uniform(4, 3, 3, 3), uniform(4)
    attributes = {"kernel": (3, 3), "num_filter": 4, "pad": (1, 1), "no_bias": no_bias}
    arrays = [data, weight] if no_bias else [data, weight, bias]
    inputs = [quantized(data, dtype), *map(quantized, arrays[1:])]
    ends = [end for _, *pair in inputs for end in pair]
    sums = contrib.quantized_conv(*[each[0] for each in inputs], *ends, **attributes)
    assert sums[0].dtype == np.int32
    actual = contrib.dequantize(*contrib.requantize(*sums)).asnumpy()
    expected = nd.Convolution(*arrays, **attributes).asnumpy()
    assert np.abs(actual - expected).max() < 0.02 * np.abs(expected).max()


def test_a_quantized_network_runs_as_a_symbol() -> None:
    names = ["x", "w", "x_min", "x_max", "w_min", "w_max"]
    x, w, *ends = map(mx.sym.Variable, names)
    keys = ["min_data", "max_data", "min_weight", "max_weight"]
    layer = mx.sym.contrib.quantized_fully_connected(
        data=x, weight=w, num_hidden=3, no_bias=True, **dict(zip(keys, ends, strict=True))
    )
    assert layer.list_outputs()[1].endswith("_min_output")
    net = mx.sym.contrib.requantize(*layer)
    data, weight = quantized(uniform(2, 4)), quantized(uniform(3, 4))
    arrays = [data[0], weight[0], *data[1:], *weight[1:]]
    actual = net.bind(mx.cpu(), dict(zip(names, arrays, strict=True)), grad_req="null").forward()
    near = contrib.dequantize(*actual).asnumpy()
    np.testing.assert_allclose(
        near, (uniform(2, 4).asnumpy() @ uniform(3, 4).asnumpy().T), atol=0.05
    )


def test_a_joined_symbol_says_how_many_arrays_it_joins() -> None:
    arrays = [mx.sym.Variable(name) for name in ("a", "b", "al", "ah", "bl", "bh")]
    joined = mx.sym.contrib.quantized_concat(*arrays, num_args=2)
    assert '"num_args": "2"' in joined.tojson()


def test_a_quantized_lstm_is_near_the_lstm() -> None:
    data, parameters = uniform(5, 2, 4), uniform(4 * 6 * (4 + 6) + 4 * 6 * (12 + 6) + 2 * 48)
    states = [nd.zeros((2, 2, 6)), nd.zeros((2, 2, 6))]
    attributes = {"state_size": 6, "num_layers": 1, "bidirectional": True, "mode": "lstm"}
    parameters = uniform(2 * (4 * 6 * (4 + 6) + 8 * 6)) * 0.5
    values, scale, shift = contrib.quantize_asym(data)
    actual = contrib.quantized_rnn(values, parameters, *states, scale, shift, **attributes)
    expected = nd.RNN(data, parameters, *states, **attributes)
    np.testing.assert_allclose(actual.asnumpy(), expected.asnumpy(), atol=0.01)


def test_a_range_without_extent_is_zeros() -> None:
    zeros = nd.zeros((2, 2), dtype="int32")
    actual, low, high = contrib.requantize(zeros, number(-1), number(1))
    assert not actual.asnumpy().any() and low.asscalar() == high.asscalar() == 0
    small = nd.ones((2, 2), dtype="int8")
    actual = contrib.quantized_concat(small, small, *[number(0)] * 4, num_args=2)
    assert not actual[0].asnumpy().any()


def test_fixed_gamma_counts_as_one() -> None:
    data = nd.array([[-100, 50]], dtype="int8")
    arrays = [nd.zeros(2), nd.zeros(2), nd.ones(2), number(-1), number(1)]
    attributes = {"min_calib_range": -1.0, "max_calib_range": 1.0, "eps": 1e-9}
    actual = contrib.quantized_batch_norm(data, nd.ones(2) * 7, *arrays, **attributes)
    assert actual[0].asnumpy().tolist() == [[-100, 50]]


def test_dtypes_are_checked() -> None:
    whole, floats, ends = nd.ones((2, 2), dtype="int8"), nd.ones((2, 2)), [number(-1), number(1)]
    with pytest.raises(DTypeError, match="lhs is float32"):
        contrib.quantized_elemwise_add(floats, whole, *ends, *ends)
    with pytest.raises(DTypeError, match="bias is float32"):
        contrib.quantized_fully_connected(
            whole, whole, nd.ones(2), *ends, *ends, *ends, num_hidden=2
        )
    with pytest.raises(DTypeError, match="int32"):
        contrib.requantize(whole, *ends)
    with pytest.raises(DTypeError, match="uint8"):
        rnn = {"state_size": 1, "num_layers": 1, "mode": "lstm"}
        contrib.quantized_rnn(whole, nd.ones(3), floats, floats, *ends, **rnn)


def test_ranges_are_float32_and_only_floats_are_quantized() -> None:
    data, low = nd.ones((2, 2)), number(-1)
    with pytest.raises(DTypeError, match="min_range is float16; it must be float32"):
        contrib.quantize(data, low.astype("float16"), low)
    with pytest.raises(DTypeError, match="data is int32; it must be float32 or int8 or uint8"):
        contrib.quantize_v2(data.astype("int32"))
    with pytest.raises(DTypeError, match="data is float32; it must be int8 or uint8"):
        contrib.dequantize(data, low, low)
    with pytest.raises(DTypeError, match="hist is float64"):
        contrib.calibrate_entropy(nd.ones(9, dtype="float64"), nd.arange(10), num_quantized_bins=3)
    whole = data.astype("int8")
    ends = [low, low, low, low.astype("float64")]
    with pytest.raises(DTypeError, match="input 5 is float64"):
        contrib.quantized_concat(whole, whole, *ends, num_args=2)


def test_nan_and_infinity_are_quantized_as_in_mxnet() -> None:
    data = nd.array([np.nan, np.inf, -np.inf, 1, -1, 300])
    calibrated = {"min_calib_range": -1.0, "max_calib_range": 1.0}
    for dtype, least, middle, of_nan in (("int8", -128, -127, 127), ("uint8", 0, 0, 0)):
        high = 127 if dtype == "int8" else 255
        actual = contrib.quantize(data, number(-1), number(1), out_type=dtype)[0]
        assert actual.asnumpy().tolist() == [of_nan, high, least, high, middle, high]
        actual = contrib.quantize_v2(data, out_type=dtype, **calibrated)[0].asnumpy().tolist()
        assert actual == [of_nan, high, least, high, least, high]
        wide = contrib.quantize_v2(data, out_type=dtype)
        assert wide[0].asnumpy().tolist() == [of_nan] * 3 + [0] * 3
        assert [wide[1].asscalar(), wide[2].asscalar()] == [-np.inf, np.inf]
    part = contrib.quantize_v2(nd.array([1, np.nan, -2]))
    assert [each.asnumpy().tolist() for each in part] == [[64, 127, -128], [-2], [2]]


def test_a_joined_range_has_zero_in_it_and_leaves_nan_out() -> None:
    one, two = nd.array([[1, 2]], dtype="int8"), nd.array([[3, 4]], dtype="int8")
    for ends, numbers, low, high in (
        ((-3, -2, -1.5, -1), [1, 2, 2, 2], -3, 0),
        ((1, 2, 3, 4), [0, 1, 3, 4], 0, 4),
        ((np.nan, 1, -1, 2), [127, 127, 3, 4], -1, 2),
        ((-1, np.nan, -2, 1), [0, 1, 3, 4], -2, 1),
    ):
        actual = contrib.quantized_concat(one, two, *map(number, ends), num_args=2)
        assert [each.asnumpy().ravel().tolist() for each in actual] == [numbers, [low], [high]]


def test_shapes_are_checked() -> None:
    whole, ends = nd.ones((2, 2), dtype="int8"), [number(-1), number(1)]
    with pytest.raises(ShapeError, match="give each"):
        contrib.quantized_elemwise_add(whole, whole, nd.ones(2), nd.ones(2), *ends)
    with pytest.raises(ShapeError, match="equal shapes"):
        contrib.quantized_elemwise_mul(whole, whole[:1], *ends, *ends)
    with pytest.raises(ShapeError, match="num_args=2"):
        contrib.quantized_concat(whole, whole, *ends, num_args=2)
    with pytest.raises(ShapeError, match="parameters"):
        rnn = {"state_size": 1, "num_layers": 1, "mode": "lstm"}
        data, state = nd.ones((2, 2, 2), dtype="uint8"), nd.zeros((1, 2, 1))
        contrib.quantized_rnn(data, nd.ones(3), state, state, *ends, **rnn)
    with pytest.raises(ShapeError, match="bins"):
        contrib.calibrate_entropy(nd.ones(5), nd.ones(5), num_quantized_bins=3)
    with pytest.raises(MXNetError):
        contrib.quantized_conv(whole, whole, *ends, kernel=(1, 1), num_filter=1, no_bias=True)


def test_values_are_checked() -> None:
    whole, ends = nd.ones((1, 1, 2, 2), dtype="int8"), [number(-1), number(1)]
    with pytest.raises(AttributeValueError, match="'relu'"):
        contrib.quantized_act(whole, *ends, act_type="tanh")
    with pytest.raises(AttributeValueError, match="'max' or 'avg'"):
        contrib.quantized_pooling(whole, *ends, kernel=(2, 2), pool_type="sum")
    with pytest.raises(AttributeValueError, match="measured before"):
        contrib.quantized_batch_norm(whole, *[nd.ones(1)] * 4, *ends)
    with pytest.raises(AttributeValueError, match="between 1"):
        contrib.calibrate_entropy(nd.ones(5), nd.ones(6))
    with pytest.raises(AttributeValueError, match="lstm"):
        contrib.quantized_rnn(
            whole, nd.ones(3), whole, *ends, mode="gru", state_size=1, num_layers=1
        )
