"""Records of the operators on integers of 8 bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.record import Record


def _conv(data, weight, bias, *ends):
    """A convolution with a kernel of 2 x 2 on 3 x 3, its bias scaled, and the range of int32."""
    sums = sum(
        np.einsum("ncij,oc->noij", data[:, :, y : y + 2, x : x + 2], weight[:, :, y, x])
        for y in range(2)
        for x in range(2)
    )
    low_data, high_data, low_weight, high_weight, low_bias, high_bias = map(abs, ends)
    one = max(low_data, high_data), max(low_weight, high_weight)
    shift = bias * (max(low_bias, high_bias) / 127.5 * 127.5 / one[1] * 255.5 / one[0])
    end = one[0] / 255 * one[1] / 127 * 2.0**31
    return sums + np.trunc(shift).reshape(1, -1, 1, 1), -end, end


def _lstm(data, parameters, state, cell, scale, shift):
    """One layer of 2 units on 3, with the weights in 127 steps."""
    wx, wh = parameters[:24].reshape(8, 3), parameters[24:40].reshape(8, 2)
    step = np.maximum(abs(wx).max(1), abs(wh).max(1))[:, None] / 127
    wx, wh = np.round(wx / step) * step, np.round(wh / step) * step
    hidden, cell, outs = state[0], cell[0], []
    for each in (data - shift) / scale:
        gates = each @ wx.T + hidden @ wh.T + parameters[40:48] + parameters[48:]
        enter, forget, new, out = np.split(gates, 4, -1)
        enter, forget, out = (1 / (1 + np.exp(-x)) for x in (enter, forget, out))
        cell = forget * cell + enter * np.tanh(new)
        hidden = out * np.tanh(cell)
        outs.append(hidden)
    return np.stack(outs)


_ONE: dict[str, Any] = {"low": 0.5, "high": 1.0, "gradient": False, "stored": True}
_RANGE = {"min_calib_range": -1.0, "max_calib_range": 2.0}
_ENDS = [(1,), (1,)]
_8, _88 = {0: "int8"}, {0: "int8", 1: "int8"}
_888 = {**_88, 2: "int8"}


def _rows(data, step):
    """Two numbers in a byte, the first in the low half, and a step for each three of a row of 6."""
    whole = np.stack([data % 16, data // 16], -1).reshape(len(data), -1)[:, :6].astype("int32") - 8
    return whole * np.repeat(step, 3, 1)


RECORDS = [
    Record(
        "_contrib_dequantize_rows",
        [(4, 4), (4, 2)],
        {"bits": "4", "size": 6},
        _rows,
        dtypes={0: "uint8"},
        gradient=False,
    ),
    Record("_contrib_requantize", [(2, 3), *_ENDS], dtypes={0: "int32"}, **_ONE),
    Record("_contrib_quantized_act", [(2, 3), *_ENDS], {"act_type": "relu"}, dtypes=_8, **_ONE),
    Record("_contrib_quantized_flatten", [(2, 3, 2), *_ENDS], dtypes=_8, **_ONE),
    Record(
        "_contrib_quantized_pooling", [(1, 2, 4, 4), *_ENDS], {"kernel": (2, 2)}, dtypes=_8, **_ONE
    ),
    Record(
        "_contrib_quantized_embedding",
        [(2, 3), (4, 3), *_ENDS],
        {"input_dim": 4, "output_dim": 3},
        integers={0: 4},
        dtypes={1: "int8"},
        **_ONE,
    ),
    Record(
        "_contrib_quantized_concat",
        [(1, 2), (1, 3), *_ENDS, *_ENDS],
        {"num_args": 2},
        dtypes=_88,
        **_ONE,
    ),
    Record("_contrib_quantized_elemwise_add", [(2, 3)] * 2 + _ENDS * 2, dtypes=_88, **_ONE),
    Record("_contrib_quantized_elemwise_mul", [(2, 3)] * 2 + _ENDS * 2, dtypes=_88, **_ONE),
    Record(
        "_contrib_quantized_fully_connected",
        [(2, 3), (4, 3), (4,), *_ENDS * 3],
        {"num_hidden": 4},
        dtypes=_888,
        **_ONE,
    ),
    # MXNet does not scale the bias here, and counts uint8 data in steps of int8.
    Record(
        "_contrib_quantized_conv",
        [(1, 2, 3, 3), (2, 2, 2, 2), (2,), *_ENDS * 3],
        {"kernel": (2, 2), "num_filter": 2},
        _conv,
        0.5,
        1.0,
        gradient=False,
        dtypes={**_888, 0: "uint8"},
    ),
    Record(
        "_contrib_quantized_batch_norm",
        [(2, 3, 2), (3,), (3,), (3,), (3,), *_ENDS],
        _RANGE,
        dtypes=_8,
        **_ONE,
    ),
    Record(
        "_contrib_quantized_rnn",
        [(3, 2, 3), (56,), (1, 2, 2), (1, 2, 2), *_ENDS],
        {"state_size": 2, "num_layers": 1, "mode": "lstm"},
        _lstm,
        0.5,
        1.0,
        gradient=False,
        dtypes={0: "uint8"},
    ),
    Record("_contrib_calibrate_entropy", [(9,), (10,)], {"num_quantized_bins": 3}, **_ONE),
    # MXNet's own cannot be called; they are the gradients of operators that are compared.
    Record("_contrib_backward_gradientmultiplier", [(2, 3)], {"scalar": 2.5}, lambda g: 2.5 * g),
    Record(
        "_contrib_backward_quadratic",
        [(2, 3), (2, 3)],
        {"a": 2.0, "b": 3.0},
        lambda g, x: g * (4 * x + 3),
    ),
    Record(
        "_contrib_backward_index_copy",
        [(3, 2), (3, 2), (1,), (1, 2)],
        {},
        lambda g, old, index, new: (np.vstack([0 * g[:1], g[1:]]), 0 * index, g[:1]),
        gradient=False,
        integers={2: 1},
    ),
    Record(
        "_contrib_backward_hawkesll",
        [(2,), (2, 2), (2, 2), (2,), (2,), (2, 2), (2, 3), (2, 3), (2,), (2,)],
        {},
        low=0.5,
        high=1.0,
        integers={7: 2, 8: 4},
        stored=True,
        gradient=False,
    ),
]
