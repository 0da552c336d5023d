"""Multi-layer recurrent networks over whole sequences, in one operator."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mixnet.base import OperatorValueError, ShapeError
from mixnet.ops.array.join import concat
from mixnet.ops.control import loops
from mixnet.ops.generators import source
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Axis, Positive, Share
from mixnet.ops.schema.shape_constraints import recurrent_weights
from mixnet.private_jax.reverse import vjp

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}
"""Products of the input, and of the state, that a step of each mode needs."""

Step = Callable[[Any, Any, Any, Any], tuple[Any, Any]]
"""Input and state as the gates get them, state, cell state -> state, cell state (None: has none)."""


def _relu(inputs: jax.Array, product: jax.Array, hidden: jax.Array, cell: None) -> tuple[Any, None]:
    return jax.nn.relu(inputs + product), None


def _tanh(inputs: jax.Array, product: jax.Array, hidden: jax.Array, cell: None) -> tuple[Any, None]:
    return jnp.tanh(inputs + product), None


@functools.cache  # the same function for the same settings: JAX finds what it traced before
def _lstm(low: float | None, high: float | None, clip_nan: bool) -> Step:
    def step(
        inputs: jax.Array, product: jax.Array, hidden: jax.Array, cell: jax.Array
    ) -> tuple[Any, Any]:
        enter, forget, new, out = jnp.split(inputs + product, 4, -1)
        cell = jax.nn.sigmoid(forget) * cell + jax.nn.sigmoid(enter) * jnp.tanh(new)
        if low is not None and high is not None:
            if clip_nan:
                cell = jnp.where(jnp.isnan(cell), jnp.asarray(low, cell.dtype), cell)
            cell = jnp.clip(cell, low, high)
        return jax.nn.sigmoid(out) * jnp.tanh(cell), cell

    return step


def _gru(inputs: jax.Array, product: jax.Array, hidden: jax.Array, cell: None) -> tuple[Any, None]:
    # The fourth part of the inputs is the hidden bias of the new gate, which `reset` scales.
    reset_in, update_in, new_in, new_bias = jnp.split(inputs, 4, -1)
    reset_h, update_h, new_h = jnp.split(product, 3, -1)
    reset, update = jax.nn.sigmoid(reset_in + reset_h), jax.nn.sigmoid(update_in + update_h)
    new = jnp.tanh(new_in + reset * (new_bias + new_h))
    return (1 - update) * new + update * hidden, None


# Those without settings; the other is ``lstm``.
_STEPS: dict[str, Step] = {"rnn_relu": _relu, "rnn_tanh": _tanh, "gru": _gru}


class _Settings(NamedTuple):
    """What a layer computes, beside its arrays."""

    step: Step
    by_length: bool


def _after_product(
    settings: _Settings,
    time: jax.Array,
    lengths: jax.Array,
    inputs: jax.Array,
    product: jax.Array,
    carry: jax.Array,
    projection: jax.Array,
) -> tuple[Any, Any]:
    """A step from the product of its state and weight on: the next state and cell, the output."""
    hidden, cell = carry
    out, after = settings.step(inputs, product, hidden, cell)
    if projection is not None:
        out = _product(out, projection, (2, 2))
    if not settings.by_length:
        return (out, after), out
    inside = (time < lengths)[None, :, None]
    carried = jax.tree.map(lambda new, old: jnp.where(inside, new, old), (out, after), carry)
    return carried, jnp.where(inside, out, 0)


def _product(left: jax.Array, right: jax.Array, axes: tuple[int, int]) -> Any:
    """The matrix product of each direction: the sum over one axis of each."""
    # Not einsum: it takes longer to trace than all the rest of a step.
    return jax.lax.dot_general(left, right, (((axes[0],), (axes[1],)), ((0,), (0,))))


def _scan(
    settings: _Settings,
    inputs: jax.Array,
    weight: jax.Array,
    projection: jax.Array,
    hidden: jax.Array,
    cell: jax.Array,
    lengths: jax.Array,
) -> tuple[Any, Any, Any, Any]:
    """The steps of one layer, all directions side by side, and what each step began with.

    Args:
        inputs: ``(time, direction, batch, inputs of the gates)``.
        weight: ``(direction, gates, out)``, hidden to gates.
        projection: ``(direction, out, state)`` or None.
        hidden: ``(direction, batch, out)``.
        cell: ``(direction, batch, state)`` or None.
        lengths: steps of each sequence, ``(batch,)``, or None.
    """

    def one(carry: jax.Array, step: jax.Array) -> tuple[Any, Any]:
        time, inputs = step
        product = _product(carry[0], weight, (2, 2))
        after, out = _after_product(settings, time, lengths, inputs, product, carry, projection)
        return after, (out, (product, carry))

    times = jnp.arange(inputs.shape[0])
    (hidden, cell), (outs, begun) = loops.scan(one, (hidden, cell), (times, inputs))
    return outs, hidden, cell, begun


# The gradient is written out for two reasons. That of the hidden weight is one product over all
# steps, after the loop: left to itself, scan would add a matrix of the weight's size at every step.
# And the loop forward is the same whether a gradient is asked for or not, so that a program with
# both has it once; what only the gradient reads is dropped by XLA where there is none.
@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _layer(settings: _Settings, *arrays: jax.Array) -> tuple[Any, Any, Any]:
    return _scan(settings, *arrays)[:3]


def _layer_forward(settings: _Settings, *arrays: jax.Array) -> tuple[Any, Any]:
    *results, begun = _scan(settings, *arrays)
    return tuple(results), (arrays, begun)


def _layer_backward(settings: _Settings, residuals: Any, heads: jax.Array) -> tuple[Any, ...]:
    (inputs, weight, projection, _, _, lengths), (products, carries) = residuals
    outs_slope, hidden_slope, cell_slope = heads

    def one(slopes: Any, step: jax.Array) -> tuple[Any, Any]:
        after, projection_slope = slopes
        out, time, inputs, product, carry = step

        def forward(*parts: jax.Array) -> Any:
            return _after_product(settings, time, lengths, *parts), ()

        _, pull, _ = vjp(forward, inputs, product, carry, projection)
        inputs, product, (hidden, cell), share = pull((after, out))
        hidden = hidden + _product(product, weight, (2, 1))
        if share is not None:
            projection_slope = projection_slope + share
        return ((hidden, cell), projection_slope), (inputs, product)

    times = jnp.arange(inputs.shape[0])
    start = (hidden_slope, cell_slope), None if projection is None else jnp.zeros_like(projection)
    scanned = outs_slope, times, inputs, products, carries
    (first, projection_slope), (inputs, products) = loops.scan(one, start, scanned, reverse=True)
    steps_and_rows = ((0, 2), (0, 2)), ((1,), (1,))
    slope = jax.lax.dot_general(products, carries[0], steps_and_rows).astype(weight.dtype)
    return inputs, slope, projection_slope, *first, None


_layer.defvjp(_layer_forward, _layer_backward)


def _reversed(steps: Any, lengths: Any) -> Any:
    """``(time, batch, ...)`` with every sequence backwards; steps after its length stay."""
    if lengths is None:
        return jnp.flip(steps, 0)
    time = jnp.arange(steps.shape[0])[:, None]
    source = jnp.where(time < lengths, lengths - 1 - time, time)
    return steps[source, jnp.arange(steps.shape[1])[None, :]]


def part_shapes(
    in_units: int,
    state_size: int,
    num_layers: int,
    bidirectional: bool,
    mode: str,
    projection: Any,
) -> list[tuple[tuple[str, int, int], tuple[int, ...]]]:
    """Name and shape of each array in the parameter vector, in order."""
    gates, directions = GATES[mode] * state_size, 1 + bidirectional
    out = projection or state_size
    weights: list[tuple[tuple[str, int, int], tuple[int, ...]]] = []
    biases: list[tuple[tuple[str, int, int], tuple[int, ...]]] = []
    for layer in range(num_layers):
        units = in_units if layer == 0 else out * directions
        for direction in range(directions):
            weights.append((("i2h", layer, direction), (gates, units)))
            weights.append((("h2h", layer, direction), (gates, out)))
            if projection:
                weights.append((("h2r", layer, direction), (out, state_size)))
            biases.append((("i2h_bias", layer, direction), (gates,)))
            biases.append((("h2h_bias", layer, direction), (gates,)))
    return weights + biases


def _rnn_arguments(mode: str, use_sequence_length: bool) -> tuple[str, ...]:
    names = ["data", "parameters", "state"]
    if mode == "lstm":
        names.append("state_cell")
    if use_sequence_length:
        names.append("sequence_length")
    return tuple(names)


def _drops(num_layers: int, p: float, training: bool) -> bool:
    return num_layers > 1 and p != 0 and training


def _check_data(shape: tuple[int, ...]) -> None:
    if len(shape) != 3:
        raise ShapeError(f"RNN: data is {tuple(shape)}; give it (time, batch, units).")


def rnn_outputs(mode: str, state_outputs: bool) -> int:
    """How many results a call has."""
    return 1 if not state_outputs else 3 if mode == "lstm" else 2


@op(
    "RNN",
    floats=True,
    aliases=["_npx_rnn"],
    arguments=_rnn_arguments,
    outputs=rnn_outputs,
    output_names=("output", "state_output", "statecell_output"),
    draws=_drops,
    draws_as_mxnet=True,
    precision="low",
)
def rnn(
    data,
    parameters,
    state,
    state_cell=None,
    sequence_length=None,
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
    key,
    training,
):
    """Layers of a recurrent network, run over all steps of a batch of sequences.

    ``out`` below is ``projection_size`` where given, else ``state_size``; ``directions`` is 2 when
    ``bidirectional``, whose second direction runs from a sequence's last step to its first and
    comes after the first in the output. In training each layer but the first gets its input
    through dropout of probability ``p``: on a CPU not in float32 without projection, unless
    ``MIXNET_RANDOM=threefry``, since MXNet has none there.

    Args:
        data: ``(time, batch, units)``.
        parameters: one vector: the weights of all layers and directions (input to gates, state to
            gates, projection), then their biases in that order. Gates of ``lstm`` are in, forget,
            cell, out; of ``gru`` reset, update, new.
        state: ``(num_layers * directions, batch, out)``.
        state_cell: of ``lstm``: ``(num_layers * directions, batch, state_size)``. It is clipped
            to ``lstm_state_clip_min`` and ``lstm_state_clip_max`` after every step if both are
            given; NaN becomes the minimum with ``lstm_state_clip_nan``.
        sequence_length: ``(batch,)``: outputs after a sequence's length are 0, and its states are
            those of its last step.

    Returns:
        ``(time, batch, directions * out)``; with ``state_outputs`` also the last state and, of
        ``lstm``, the last cell state.

    Raises:
        ShapeError: an array does not have the shape that follows from ``data``.
        AttributeValueError: a projection in a mode that has none.

    Source: MXNet operator ``RNN``.
    """
    arrays = {
        "parameters": parameters, "state": state, "state_cell": state_cell,
        "sequence_length": sequence_length,
    }  # fmt: skip
    _check(arrays, data.shape, state_size, num_layers, bidirectional, mode, projection_size)
    step = _STEPS.get(mode) or _lstm(lstm_state_clip_min, lstm_state_clip_max, lstm_state_clip_nan)
    directions = 1 + bidirectional
    lengths = None if sequence_length is None else sequence_length.astype(jnp.int32)
    layout = part_shapes(
        data.shape[2], state_size, num_layers, bidirectional, mode, projection_size
    )
    part = _parts(parameters, layout)
    last = []
    masks = None
    if _drops(num_layers, p, training) and not _is_left_out(key, data.dtype, projection_size):
        units = directions * (projection_size or state_size)
        masks = _masks(key, p, (num_layers - 1, *data.shape[:2], units))
    for layer in range(num_layers):
        if layer and masks is not None:
            data = jnp.where(masks[layer - 1], data / (1 - p), 0).astype(data.dtype)
        rows = slice(layer * directions, (layer + 1) * directions)
        sides = [(layer, direction) for direction in range(directions)]
        outs, *after = _layer(
            _Settings(step, lengths is not None),
            jnp.stack([_gate_inputs(data, part, side, mode, lengths) for side in sides], 1),
            jnp.stack([part["h2h", *side] for side in sides]),
            jnp.stack([part["h2r", *side] for side in sides]) if projection_size else None,
            state[rows],
            None if state_cell is None else state_cell[rows],
            lengths,
        )
        data = outs[:, 0]
        if bidirectional:
            data = jnp.concatenate([data, _reversed(outs[:, 1], lengths)], -1)
        last.append(after)
    if not state_outputs:
        return data
    states = zip(*last, strict=True)
    return data, *(jnp.concatenate(each) for each in states if each[0] is not None)


def _check(
    arrays: Mapping[str, Any],
    data: tuple[int, ...],
    state_size: int,
    num_layers: int,
    bidirectional: bool,
    mode: str,
    projection_size: int | None,
) -> None:
    """Refuse settings that contradict each other, and arrays of other shapes than follow from them."""
    if projection_size and mode != "lstm":
        raise OperatorValueError(
            f"RNN: projection_size={projection_size} with mode={mode!r}; only 'lstm' has a "
            f"projection. Leave it out."
        )
    expected = rnn_shapes(data, state_size, num_layers, bidirectional, mode, projection_size)
    for name, array in arrays.items():
        if array is not None and array.shape != expected[name]:
            raise ShapeError(
                f"RNN: {name} is {array.shape}, but {expected[name]} follows from data {data} "
                f"(time, batch, units), state_size={state_size}, num_layers={num_layers}, "
                f"mode={mode!r}, bidirectional={bidirectional}, projection_size={projection_size}."
            )


def _parts(
    parameters: Any, layout: list[tuple[tuple[str, int, int], tuple[int, ...]]]
) -> dict[tuple[str, int, int], Any]:
    """The arrays that make up the parameter vector, by kind, layer and direction."""
    # Cut in one operation: its gradient joins the parts, where that of single slices would add
    # vectors of all parameters, each zero but for one part.
    pieces = jax.lax.split(parameters, [math.prod(shape) for _, shape in layout])
    return {
        which: piece.reshape(shape) for (which, shape), piece in zip(layout, pieces, strict=True)
    }


def _is_left_out(key: Any, dtype: np.dtype, projection_size: int | None) -> bool:
    """Whether MXNet has no dropout there: on CPUs it runs float32 with oneDNN, which has none."""
    return source.is_drawn_by_host(key) and dtype == np.float32 and not projection_size


def _masks(key: Any, p: float, shape: tuple[int, ...]) -> Any:
    """What dropout keeps of the inputs of all layers but the first."""
    if source.is_drawn_by_host(key):
        return source.uniform(key, shape, np.float32) >= np.float32(p)
    keys = [jax.random.fold_in(key, layer) for layer in range(1, shape[0] + 1)]
    return [jax.random.bernoulli(each, 1 - p, shape[1:]) for each in keys]


def _gate_inputs(data: Any, part: Any, side: tuple[int, int], mode: str, lengths: Any) -> Any:
    """What the gates get from the data of all steps, ``(time, batch, gates)``, biases included."""
    bias, hidden_bias = part["i2h_bias", *side], part["h2h_bias", *side]
    if side[1]:
        data = _reversed(data, lengths)
    product = jax.lax.dot_general(data, part["i2h", *side], (((2,), (1,)), ((), ())))
    if mode != "gru":
        return product + (bias + hidden_bias)
    new = bias.shape[0] // 3 * 2
    product = product + jnp.concatenate([bias[:new] + hidden_bias[:new], bias[new:]])
    scaled = jnp.broadcast_to(hidden_bias[new:], (*product.shape[:2], bias.shape[0] - new))
    return jnp.concatenate([product, scaled], -1)


def rnn_shapes(
    data: tuple[int, ...],
    state_size: int,
    num_layers: int,
    bidirectional: bool,
    mode: str,
    projection_size: int | None,
) -> dict[str, tuple[int, ...]]:
    """Shapes of the arrays beside the data.

    Raises:
        ShapeError: the data has other axes.
    """
    _check_data(data)
    layout = part_shapes(data[2], state_size, num_layers, bidirectional, mode, projection_size)
    rows = num_layers * (1 + bidirectional)
    return {
        "parameters": (sum(math.prod(shape) for _, shape in layout),),
        "state": (rows, data[1], projection_size or state_size),
        "state_cell": (rows, data[1], state_size),
        "sequence_length": (data[1],),
    }


@rnn.set_flops(is_product=True)
def _(inputs, outputs, mode, state_size, num_layers, bidirectional):
    steps, batch, units = inputs[0]
    total, read = 0, units
    for _ in range(num_layers):
        total += (1 + bidirectional) * GATES[mode] * state_size * (read + state_size)
        read = (1 + bidirectional) * state_size
    return 2 * steps * batch * total


@rnn.infer_inputs
def _(data, *, state_size, num_layers, bidirectional, mode, projection_size):
    return rnn_shapes(data, state_size, num_layers, bidirectional, mode, projection_size)


@op(
    "_rnn_param_concat",
    one_dtype=True,
    aliases=["_npi_rnn_param_concat"],
    flops=0,
    shape_constraint=recurrent_weights,
)
def rnn_param_concat(*data, dim: Axis = 1):
    """The arrays of a recurrent network joined along ``dim``, as ``RNN`` takes its parameters.

    Source: MXNet operator ``_rnn_param_concat``.
    """
    return concat.function(*data, dim=dim)
