"""Signed activations become unsigned ones around 128.

Processors multiply unsigned by signed 8-bit integers, and runtimes have their fastest kernels for
that: activations unsigned, weights signed. The integers stand for the same numbers as before.
"""

from __future__ import annotations

from collections.abc import Set

import numpy as np

from mixnet.onnx.export.builder import Builder, Step, values_read

_MIDDLE = np.asarray(128, np.uint8)
_MOVES = frozenset(["Flatten", "Reshape", "Transpose"])
"""Nodes that pass integers on unchanged."""


def use_unsigned(builder: Builder) -> None:
    """Shift int8 values that lie between ``QuantizeLinear`` and ``DequantizeLinear``.

    Values that leave the graph, or that other nodes read, keep their dtype.
    """
    readers = _readers(builder)
    fixed = {name for name, _, _ in builder.outputs} | _read_in_bodies(builder)
    shifted: set[str] = set()
    for step in builder.steps:
        if step.op_type == "QuantizeLinear" and _is_signed(builder, step):
            region = _region(builder, step, readers, fixed)
            middle = builder.constant(_MIDDLE)
            for each in region:
                if each.op_type not in _MOVES:
                    each.inputs[2] = middle
                if each.op_type != "DequantizeLinear":
                    shifted.update(each.outputs)
    builder.infos = [
        (name, np.uint8 if name in shifted else dtype, dims) for name, dtype, dims in builder.infos
    ]


def _readers(builder: Builder) -> dict[str, list[Step]]:
    readers: dict[str, list[Step]] = {}
    for step in builder.steps:
        for name in step.inputs:
            readers.setdefault(name, []).append(step)
    return readers


def _read_in_bodies(builder: Builder) -> set[str]:
    return {name for step in builder.steps for name in values_read(step) - set(step.inputs)}


def _is_signed(builder: Builder, step: Step) -> bool:
    """Whether the zero point of a node is one 0 of int8."""
    zero = builder.known(step.inputs[2]) if len(step.inputs) > 2 else None
    return zero is not None and zero.dtype == np.int8 and not zero.shape and not zero


def _averages_padding(step: Step) -> bool:
    """Whether padding counts in a mean: OpenVINO fills it with the integer 0, whatever that stands for."""
    return bool(
        step.op_type == "AveragePool"
        and step.attributes.get("count_include_pad")
        and any(step.attributes.get("pads", ()))
    )


def _region(
    builder: Builder, source: Step, readers: dict[str, list[Step]], fixed: Set[str]
) -> list[Step]:
    """The nodes that make and read a value's integers; none if they cannot be shifted."""
    region, new = [source], [source]
    while new:
        step = new.pop()
        if not fixed.isdisjoint(step.outputs):
            return []
        for reader in readers.get(step.outputs[0], []):
            if reader.op_type in _MOVES:
                new.append(reader)
            elif (
                reader.op_type != "DequantizeLinear"
                or not _is_signed(builder, reader)
                or any(map(_averages_padding, readers.get(reader.outputs[0], [])))
            ):
                return []
            region.append(reader)
    return region
