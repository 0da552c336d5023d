"""Floating point operations of an operator, from its attributes and the shapes that it reads and writes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from mixnet.ops.attributes import numbers

Shape = Sequence[int]
Rule = Callable[[Mapping[str, str], Sequence[Shape], Sequence[Shape]], int]
RULES: dict[str, Rule] = {}

# Operators that move or name elements and compute nothing.
MOVES = frozenset({
    "BlockGrad", "Cast", "Concat", "Crop", "Embedding", "Flatten", "Pad", "Reshape", "SliceChannel", "SwapAxis",
    "_copy", "_CrossDeviceCopy", "_ones", "_zeros", "_full", "_arange", "amp_cast", "amp_multicast",
    "broadcast_axis", "broadcast_like", "broadcast_to", "concat", "depth_to_space", "expand_dims", "flip",
    "gather_nd", "one_hot", "ones_like", "pick", "repeat", "reshape_like", "reverse", "shape_array", "slice",
    "slice_axis", "slice_like", "space_to_depth", "split_v2", "squeeze", "stack", "take", "tile", "transpose",
    "zeros_like", "_rnn_param_concat", "_getitem", "_split_v2", "size_array", "diag",
})  # fmt: skip
# Operations for each element of the first input: means, variances and exponentials are several.
_PER_ELEMENT = {
    "BatchNorm": 7, "GroupNorm": 7, "InstanceNorm": 7, "L2Normalization": 3, "LayerNorm": 7, "LRN": 5,
    "Softmax": 4, "SoftmaxActivation": 4, "SoftmaxOutput": 4, "log_softmax": 4, "softmax": 4, "softmax_cross_entropy": 5,
}  # fmt: skip
_REDUCTIONS = frozenset(
    {"argmax", "argmin", "max", "mean", "min", "nansum", "norm", "prod", "sum", "sum_axis"}
)
_GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


def flops(
    op: str | None, attributes: Mapping[str, str], inputs: Sequence[Shape], outputs: Sequence[Shape]
) -> int:
    """Floating point operations of one call; a multiplication and an addition are two.

    An estimate as papers count: products, convolutions and recurrent layers exactly, other operators one (or a
    few, see this file) for each element. An operator without a rule counts an operation for each element it writes.

    Args:
        op: name of the operator; None, for an input, costs nothing.
        attributes: its attributes as text.
        inputs: shapes of what it reads.
        outputs: shapes of what it writes.
    """
    if op is None or not outputs or any(shape is None for shape in (*inputs, *outputs)):
        return 0
    if op.startswith("_backward_"):
        return _backward(op.removeprefix("_backward_"), attributes, inputs, outputs)
    # What operators become for the compiler; a weight keeps the shape that it has in MXNet.
    if op == "Convolution_data_gradient":
        return 2 * math.prod(inputs[0]) * math.prod(inputs[1][1:])
    if op == "Convolution_weight_gradient":
        return 2 * math.prod(inputs[0]) * math.prod(outputs[0][1:])
    op = op.removesuffix("_gradient").removesuffix("_channels_last")
    if op in MOVES:
        return 0
    if op in RULES:
        return RULES[op](attributes, inputs, outputs)
    if op in _PER_ELEMENT:
        return _PER_ELEMENT[op] * math.prod(inputs[0])
    if op in _REDUCTIONS:
        return math.prod(inputs[0])
    if op == "add_n":
        return (len(inputs) - 1) * math.prod(outputs[0])
    return math.prod(outputs[0])


def _rule(*names: str) -> Callable[[Rule], Rule]:
    def declare(rule: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, rule))
        return rule

    return declare


@_rule("Convolution")
def _convolution(attributes: Mapping[str, str], inputs: Sequence[Shape], out: Sequence[Shape]) -> int:  # fmt: skip
    # A weight is (filters, channels of a group, kernel...): an element of the output reads one filter.
    per_element = 2 * math.prod(inputs[1][1:]) + (len(inputs) > 2)
    return math.prod(out[0]) * per_element


@_rule("Deconvolution")
def _deconvolution(attributes: Mapping[str, str], inputs: Sequence[Shape], out: Sequence[Shape]) -> int:  # fmt: skip
    bias = math.prod(out[0]) if len(inputs) > 2 else 0
    return 2 * math.prod(inputs[0]) * math.prod(inputs[1][1:]) + bias


@_rule("FullyConnected")
def _dense(attributes: Mapping[str, str], inputs: Sequence[Shape], out: Sequence[Shape]) -> int:
    return math.prod(out[0]) * (2 * inputs[1][-1] + (len(inputs) > 2))


@_rule("dot", "_npi_dot")
def _dot(attributes: Mapping[str, str], inputs: Sequence[Shape], out: Sequence[Shape]) -> int:
    # (rows·k)(k·columns)/(rows·columns) is k², whatever is transposed.
    k = math.isqrt(math.prod(inputs[0]) * math.prod(inputs[1]) // max(math.prod(out[0]), 1))
    return 2 * k * math.prod(out[0])


@_rule("batch_dot", "linalg_gemm2", "_linalg_gemm2", "_npi_matmul")
def _batch_dot(attributes: Mapping[str, str], inputs: Sequence[Shape], out: Sequence[Shape]) -> int:
    transposed = attributes.get("transpose_a") in ("True", "1", "true")
    return 2 * inputs[0][-2 if transposed and len(inputs[0]) > 1 else -1] * math.prod(out[0])


@_rule("RNN")
def _rnn(attributes: Mapping[str, str], inputs: Sequence[Shape], out: Sequence[Shape]) -> int:
    steps, batch, units = inputs[0]
    hidden, layers = int(attributes["state_size"]), int(attributes["num_layers"])
    directions = 2 if attributes.get("bidirectional") in ("True", "1", "true") else 1
    total, read = 0, units
    for _ in range(layers):
        total += directions * _GATES[attributes["mode"]] * hidden * (read + hidden)
        read = directions * hidden
    return 2 * steps * batch * total


@_rule("Pooling")
def _pooling(attributes: Mapping[str, str], inputs: Sequence[Shape], out: Sequence[Shape]) -> int:
    if attributes.get("global_pool") in ("True", "1", "true") or "kernel" not in attributes:
        return math.prod(inputs[0])
    return math.prod(out[0]) * math.prod(numbers(attributes["kernel"]))


_PRODUCTS = frozenset({"Convolution", "Deconvolution", "FullyConnected", "dot", "batch_dot", "RNN"})


def _backward(
    op: str, attributes: Mapping[str, str], inputs: Sequence[Shape], outputs: Sequence[Shape]
) -> int:
    """Of a gradient: heads, then the forward operator's inputs come in. Each gradient of a product costs as much."""
    if op not in _PRODUCTS:
        return sum(math.prod(shape) for shape in outputs)
    forward = flops(op, attributes, inputs[1:3], inputs[:1])
    wanted = [shape for shape in outputs if len(shape) > 1 or op in ("dot", "RNN")]
    bias = math.prod(inputs[0]) if len(wanted) < len(outputs) else 0
    return forward * min(len(wanted), 2) + bias
