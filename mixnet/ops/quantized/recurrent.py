"""Recurrent layers with weights in the steps of 8-bit integers."""

from __future__ import annotations

import math
from typing import Any, Literal

import jax.numpy as jnp

from mixnet.base import DTypeError, OperatorValueError
from mixnet.ops.nn.recurrent import part_shapes, rnn, rnn_outputs, rnn_shapes
from mixnet.ops.quantized.ranges import (
    LIMITS,
    check_range,
    ratio,
    with_ranges,
)
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import (
    Positive,
    Share,
)

_FLOATS = ("parameters", "state", "state_cell", "data_scale", "data_shift")


def _rnn_arguments(mode: str) -> list[str]:
    cell = ["state_cell"] if mode == "lstm" else []
    return ["data", "parameters", "state", *cell, "data_scale", "data_shift"]


@op(
    "_contrib_quantized_rnn",
    arguments=_rnn_arguments,
    outputs=rnn_outputs,
    output_names=("output", "state_output", "statecell_ouput"),  # MXNet spells it so
    differentiable=False,
    dtypes=with_ranges("float32", own=dict.fromkeys(_FLOATS, "float32"), usual="uint8"),
    in_amp_lists=False,
)
def quantized_rnn(
    data,
    parameters,
    state,
    state_cell=None,
    data_scale=None,
    data_shift=None,
    *,
    state_size: Positive,
    num_layers: Positive,
    bidirectional: bool = False,
    mode: Literal["gru", "lstm", "rnn_relu", "rnn_tanh"],
    p: Share = 0.0,
    state_outputs: bool = False,
    projection_size: Positive | None = None,
    lstm_state_clip_min: float | None = None,
    lstm_state_clip_max: float | None = None,
    lstm_state_clip_nan: bool = False,
    use_sequence_length: bool = False,
):
    """``RNN`` of ``uint8`` data with weights as precise as ``int8``; without dropout.

    Each row of gates has one step for its weights of both input and state; biases, states and
    results are floats.

    Args:
        data: ``uint8``, ``(time, batch, units)``, as ``contrib.quantize_asym`` makes it.
        parameters: float, one vector as of ``RNN``.
        state: float, as of ``RNN``.
        state_cell: float, as of ``RNN``.
        data_scale: ``(1,)``, of ``contrib.quantize_asym``.
        data_shift: ``(1,)``, of ``contrib.quantize_asym``.

    Returns:
        As ``RNN``, in float32.

    Raises:
        AttributeValueError: another ``mode`` than "lstm", or ``use_sequence_length``.
        DTypeError: the data are not ``uint8``.
        ShapeError: an array does not have the shape that follows from ``data``.

    Source: MXNet operator ``_contrib_quantized_rnn``.
    """
    if mode != "lstm" or use_sequence_length:
        raise OperatorValueError(
            f"contrib.quantized_rnn: mode={mode!r}, use_sequence_length={use_sequence_length}; it "
            f"takes mode='lstm' without lengths. Use RNN for others."
        )
    if data.dtype != jnp.uint8:
        raise DTypeError(
            f"contrib.quantized_rnn: data is {data.dtype}; it must be uint8, as "
            f"contrib.quantize_asym makes it."
        )
    check_range("quantized_rnn", data_scale, data_shift)
    attributes: dict[str, Any] = {
        "state_size": state_size,
        "num_layers": num_layers,
        "bidirectional": bidirectional,
        "mode": mode,
    }
    shapes = part_shapes(data.shape[-1], **attributes, projection=projection_size)
    return rnn.function(
        ((data - data_shift) / data_scale).astype(jnp.float32),
        _rounded_weights(parameters, shapes),
        state,
        state_cell,
        **attributes,
        state_outputs=state_outputs,
        projection_size=projection_size,
        lstm_state_clip_min=lstm_state_clip_min,
        lstm_state_clip_max=lstm_state_clip_max,
        lstm_state_clip_nan=lstm_state_clip_nan,
        key=None,
        training=False,
    )


def _rounded_weights(parameters: Any, shapes: Any) -> Any:
    """The parameters of a recurrent network, its weights rounded to the steps of int8."""
    parts, at = {}, 0
    for which, shape in shapes:
        parts[which] = parameters[at : at + math.prod(shape)].reshape(shape)
        at += math.prod(shape)
    if at != parameters.shape[0]:
        return parameters  # RNN's error names the expected shape
    for _, *side in [which for which in parts if which[0] == "i2h"]:
        rows = ["i2h", "h2h"]
        end = jnp.max(
            jnp.stack([jnp.abs(parts[each, *side]).max(1, keepdims=True) for each in rows]), 0
        )
        for each in rows:
            steps = jnp.round(parts[each, *side] * ratio(LIMITS["int8"][1], end))
            parts[each, *side] = steps * (end / LIMITS["int8"][1])
    return jnp.concatenate([each.reshape(-1) for each in parts.values()])


@quantized_rnn.infer_inputs
def _(data, *, state_size, num_layers, bidirectional, mode, projection_size):
    shapes = rnn_shapes(data, state_size, num_layers, bidirectional, mode, projection_size)
    return {**shapes, "data_scale": (1,), "data_shift": (1,)}
