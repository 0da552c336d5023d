"""Floating-point operations of an operator, from its attributes and the shapes of its inputs and outputs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from mixnet.ops.op import Op
from mixnet.ops.registry import OPERATORS

Shape = Sequence[int]

# Put into graphs by a pass: it moves elements, and has no declaration in the registry.
_COPY = "_CrossDeviceCopy"


def flops(
    op: str | None, attributes: Mapping[str, str], inputs: Sequence[Shape], outputs: Sequence[Shape]
) -> int:
    """Floating point operations of one call; a multiplication and an addition are two.

    An estimate, counted as papers do: products, convolutions and recurrent layers exactly, other
    operators with the number per element that they declare. An operator that declares nothing
    counts one for each element that it writes.

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
    if op == _COPY:
        return 0
    declared = OPERATORS.get(op.removesuffix("_gradient").removesuffix("_channels_last"))
    # Such as a whole program as one operator: no number is better than a wrong one.
    if declared is None:
        return 0
    if declared.flops_rule is not None:
        named = {
            name: _value(declared, name, attributes) for name in declared.flops_rule.attributes
        }
        return declared.flops_rule.count(inputs, outputs, **named)
    if declared.flops is not None:
        return declared.flops * math.prod(inputs[0]) if declared.flops else 0
    return math.prod(outputs[0])


def _value(op: Op, name: str, attributes: Mapping[str, str]) -> object:
    """The value of an attribute that is given as text, or its default."""
    declared = op.attributes[name]
    return declared.parse(attributes[name], op.name) if name in attributes else declared.default


def _backward(
    op: str, attributes: Mapping[str, str], inputs: Sequence[Shape], outputs: Sequence[Shape]
) -> int:
    """Of a gradient: heads, then the forward operator's inputs come in. Each gradient of a
    product costs as much.
    """
    declared = OPERATORS.get(op)
    rule = None if declared is None else declared.flops_rule
    if declared is None or rule is None or not rule.is_product:
        return sum(math.prod(shape) for shape in outputs)
    forward = flops(op, attributes, inputs[1:3], inputs[:1])
    has_bias = "bias" in declared.arrays
    matrices = [shape for shape in outputs if len(shape) > 1 or not has_bias]
    bias = math.prod(inputs[0]) if len(matrices) < len(outputs) else 0
    return forward * min(len(matrices), 2) + bias
