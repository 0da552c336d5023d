"""An ONNX graph as a symbol: its inputs, which of their extents stay open, and its outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mixnet import symbol as sym
from mixnet.base import FileFormatError, MXNetError, ShapeError
from mixnet.onnx.extents import is_open
from mixnet.onnx.load.arrays import Arrays
from mixnet.onnx.load.extents import open_extent
from mixnet.onnx.load.reading import Reading
from mixnet.onnx.load.table import MAIN
from mixnet.onnx.package import onnx_package
from mixnet.symbol.symbol import Symbol

NEWEST_READ = 28
OLDEST_READ = 7
_OF_EXTENTS = {"_with_extents", "_extents", "_of_shape"}
"""Operators that MXNet does not have."""


def read_graph(
    model: Any,
    shapes: Mapping[str, Any] | None,
    arrays: dict[str, np.ndarray],
    fixed: bool = False,
) -> tuple[Symbol, Arrays, list[str]]:
    """The symbol of a model, the arrays of which it uses some, and names of its inputs.

    Args:
        model: a ``ModelProto``.
        shapes: shapes of inputs by name, for inputs with dynamic dimensions.
        arrays: its initializers.
        fixed: whether the symbol must do without operators of extents. If it needs some, it is one for the
            given shapes alone.
    """
    fixed = fixed and bool(shapes)
    try:
        result = _read_graph(model, shapes, arrays)
        if not fixed or not any(
            not node.is_variable and node.op.name in _OF_EXTENTS for node in result[0].graph.nodes
        ):
            return result
    except Exception:
        if not fixed:
            raise
    return _read_graph(model, shapes, arrays, fixed)


def _read_graph(
    model: Any, shapes: Mapping[str, Any] | None, arrays: dict[str, np.ndarray], fixed: bool = False
) -> tuple[Symbol, Arrays, list[str]]:
    """The symbol of a model, the arrays of which it uses some, and names of its inputs.

    Extents that the file leaves open stay open. Where a node needs to know them, only those of the first
    axes, the batch, do; if that is not enough, the symbol is one for the given shapes alone.

    Args:
        model: a ``ModelProto``.
        shapes: shapes of inputs by name, for inputs with dynamic dimensions.
        arrays: its initializers.
        fixed: whether inputs with given shapes have these alone.
    """
    inputs = [
        _Input(each, _shape_of(each, shapes), each.name in (shapes or {}), fixed)
        for each in model.graph.input
        if each.name not in arrays
    ]
    _opset_of(model)
    open_axes = [each.open_axes() for each in inputs]
    batches = [{a: name for a, name in each.items() if a == 0} for each in open_axes]
    why = ""
    for opened in (open_axes, batches) if batches != open_axes else (open_axes,):
        if not any(opened):
            break
        try:
            return _read_opened(model, arrays, inputs, opened, why)
        except FileFormatError:
            raise
        except Exception as error:  # of a node that needs to know an extent, or of any other reason
            why = why or str(error)
    try:
        return _read_opened(model, arrays, inputs, [{}] * len(inputs), why)
    except FileFormatError:
        raise
    except MXNetError as error:
        open_inputs = [each for each in inputs if each.open_axes() and not each.is_known]
        if not why or not open_inputs:
            raise
        example = ", ".join(f"{each.name!r}: {each.shape}" for each in open_inputs)
        raise type(error)(
            f"{error} Dimensions that the file leaves open were taken as 1. They cannot stay open, "
            f"since: {why} "
            f"Pass your shapes: input_shapes={{{example}}}, with your numbers for 1."
        ) from None


class _Input:
    """An input of a model.

    Args:
        info: its ``ValueInfoProto``.
        shape: that it has if no extent is open.
        is_known: whether the user said so.
        is_fixed: whether it then has no other one.
    """

    def __init__(self, info: Any, shape: tuple[int, ...], is_known: bool, is_fixed: bool):
        self.info, self.shape, self.is_known = info, shape, is_known
        self.is_fixed = is_known and is_fixed
        self.name: str = info.name

    def open_axes(self) -> dict[int, Any]:
        """The names of the extents that stay open if possible, by axis."""
        if self.is_fixed:
            return {}
        dims = self.info.type.tensor_type.shape.dim
        return {
            axis: dims[axis].dim_param or (self.name, axis)
            for axis in range(len(self.shape))
            if axis < len(dims) and not dims[axis].dim_value and self.shape[axis]
        }

    def declare(self, reading: Reading, opened: Mapping[int, Any], why: str) -> None:
        """Make it an input of the graph.

        Args:
            reading: the graph.
            opened: what names the extents that stay open, by axis.
            why: the reason if others do not.
        """
        numbers = {axis: reading.origins.number(name) for axis, name in opened.items()}
        shape = tuple(
            open_extent(numbers[axis]) if axis in numbers else extent
            for axis, extent in enumerate(self.shape)
        )
        known = self.shape if self.is_known else tuple(0 if is_open(e) else e for e in shape)
        advice = (
            f"For another shape, import the file with input_shapes={{{self.name!r}: (...)}}."
            if self.is_fixed
            else ""
        )
        reading.input(self.name, shape, _dtype_of(self.info), known, advice)
        variable = reading.values[self.name]
        for axis, number in numbers.items():
            reading.origins.set(number, variable, axis)
        if fixed := [axis for axis in self.open_axes() if axis not in opened]:
            extents = tuple(e if axis in fixed else 0 for axis, e in enumerate(self.shape))
            reason = (
                f"Input {self.name!r} was imported for this shape; for another one, import the file "
                f"with input_shapes={{{self.name!r}: (...)}}. It does not stay open, since: {why}"
            )
            scalar = reading.is_scalar(variable)
            variable = reading.op("_of_shape", variable, shape=extents, why=reason)
            reading.values[self.name] = reading.mark_scalar(variable, scalar)


def _opset_of(model: Any) -> int:
    """The operator set of a model.

    Raises:
        FileFormatError: it cannot be read.
    """
    sets = {each.domain: each.version for each in model.opset_import}
    only_others = bool(sets) and all(node.domain not in MAIN for node in model.graph.node)
    opset: int = sets.get("", sets.get("ai.onnx", NEWEST_READ if only_others else 0))
    if not OLDEST_READ <= opset <= NEWEST_READ:
        raise FileFormatError(
            f"The file is written in operator set {opset}; {OLDEST_READ} to {NEWEST_READ} can "
            "be read. Convert it "
            f"with onnx.version_converter."
        )
    return opset


def _read_opened(
    model: Any,
    arrays: dict[str, np.ndarray],
    inputs: Sequence[_Input],
    opened: Sequence[Mapping[int, Any]],
    why: str,
) -> tuple[Symbol, Arrays, list[str]]:
    """The same as :func:`read_graph`, with these extents of each input open."""
    reading = Reading(_opset_of(model))
    reading.sets = {each.domain: each.version for each in model.opset_import}
    reading.functions = {(each.domain, each.name): each for each in model.functions}
    for name, array in arrays.items():
        reading.values[name] = reading.arrays.named(array, name)
    for each, axes in zip(inputs, opened, strict=True):
        each.declare(reading, axes, why)
    for node in model.graph.node:
        reading.node(node)
    heads = []
    for each in model.graph.output:
        if each.name not in reading.values:
            raise FileFormatError(
                f"No node produces the model's output {each.name!r}; the file is damaged."
            )
        value = reading.symbol(reading.values[each.name])
        heads.append(value[0] if len(value) > 1 else value)
    if not heads:
        raise FileFormatError("The file's graph has no outputs.")
    group = heads[0] if len(heads) == 1 else sym.Group(heads)
    for node in group.graph.nodes:
        node.attrs = {k: v for k, v in node.attrs.items() if k != "__onnx__"}
    return group, reading.arrays, [each.name for each in inputs]


def _shape_of(info: Any, shapes: Mapping[str, Any] | None) -> tuple[int, ...]:
    override = (shapes or {}).get(info.name)
    dims = info.type.tensor_type.shape.dim
    if not info.type.tensor_type.HasField("shape"):
        if override is None:
            raise ShapeError(
                f"Input {info.name!r} has no shape in the file. Pass one: "
                f"input_shapes={{{info.name!r}: (1, 3, 224, 224)}}, with its own extents."
            )
        return tuple(int(each) for each in override)
    if override is not None and not dims and tuple(override) == (1,):
        return ()
    if override is not None:
        if len(override) != len(dims) or any(
            d.dim_value and d.dim_value != e for d, e in zip(dims, override, strict=True)
        ):
            declared = tuple(d.dim_value or d.dim_param or "?" for d in dims)
            raise ShapeError(
                f"Input {info.name!r} is {declared} in the file, which the shape "
                f"{tuple(override)} does not fit."
            )
        return tuple(int(each) for each in override)
    if any(d.dim_value < 0 for d in dims):
        raise FileFormatError(f"Input {info.name!r} has a negative extent; the file is damaged.")
    return tuple(int(d.dim_value) or 1 for d in dims)


def _dtype_of(info: Any) -> np.dtype:
    if not info.type.HasField("tensor_type"):
        raise MXNetError(
            f"Input {info.name!r} is not a tensor; sequences, maps and sparse tensors cannot be read."
        )
    try:
        code = info.type.tensor_type.elem_type
        dtype: np.dtype = np.dtype(onnx_package().helper.tensor_dtype_to_np_dtype(code))
    except (KeyError, ValueError, TypeError):
        raise FileFormatError(
            f"Input {info.name!r} has no dtype that ONNX knows; the file is damaged."
        ) from None
    return dtype
