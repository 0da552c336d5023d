"""Reading the nodes of an ONNX graph: what readers of operators ask of it, and the traversal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from jax.errors import InconclusiveDimensionOperation
from numpy.typing import DTypeLike

import mixnet.onnx.load.readers  # noqa: F401 - fills the table
from mixnet import symbol as sym
from mixnet.base import FileFormatError, MXNetError, NotDefinedError
from mixnet.graph.node import Entry
from mixnet.onnx.extents import Extent, is_open, simplified
from mixnet.onnx.load.arrays import Arrays
from mixnet.onnx.load.constant import computed
from mixnet.onnx.load.extents import OpenArray, Origins, followed
from mixnet.onnx.load.functions import definition_of, is_of_onnx, read_definition
from mixnet.onnx.load.specs import Specs
from mixnet.onnx.load.table import ALIKE, READERS, REASONS, Call, key_of
from mixnet.onnx.package import onnx_package
from mixnet.passes.infer_shape import ONE_SHAPE
from mixnet.symbol.symbol import Symbol

_SMALL = 1 << 22
"""Elements of arrays that become parameters where an operator could compute them instead."""
_LARGEST = 1 << 26
"""Elements of arrays that readers make, such as a mask of 8,192 times 8,192."""
_GIVE_AXES = {
    "Unsqueeze",
    "Reshape",
    "Expand",
    "Tile",
    "ConstantOfShape",
    "Loop",
    "If",
    "OneHot",
    "Scan",
}
"""Operators whose result may have axes where no input has any; they say themselves where it has none."""


class Reading:
    """The state of reading a graph.

    Args:
        opset: the operator set of the file.
        outer: what is known of the graph around this one, the body of a loop or branch.
    """

    def __init__(self, opset: int, outer: Reading | None = None):
        self.opset = opset
        self.sets: dict[str, int] = {} if outer is None else outer.sets
        """The versions of other domains of operators."""
        self.outer = outer
        self.values: dict[str, Any] = {}
        self.specs: Specs = Specs() if outer is None else outer.specs
        self.arrays: Arrays = Arrays(self.specs) if outer is None else outer.arrays
        """The arrays of the file, and the network's parameters."""
        self.rounded: dict[Entry, tuple[Symbol, Symbol]] = {} if outer is None else outer.rounded
        """Of quantized values what they were, and their whole numbers as floats."""
        self.origins: Origins = Origins() if outer is None else outer.origins
        self._reads_alike = False
        """Whether the arrays of the node that is read have equal extents."""
        self._scalars: set[Entry] = set() if outer is None else outer._scalars
        """Values without axes in the file: symbols of one axis here."""
        self.functions: dict[tuple[str, str], Any] = {} if outer is None else outer.functions
        """The file's own functions by domain and name."""
        self.prefix: str = "" if outer is None else outer.prefix
        """Of names inside of a function, which has the same ones at every call."""
        self.scope = ""

    # ---- what readers ask -----------------------------------------------------------------------

    def op(self, name: str, *inputs: object, **attributes: object) -> Any:
        """A symbol of an operator; arrays among the inputs become parameters.

        Attributes that depend on open extents are computed from the shapes of the model's inputs.
        """
        symbols = [self.symbol(each) for each in inputs]
        if not any(map(is_open, attributes.values())):
            result = getattr(sym, name)(*symbols, **attributes)
        else:
            text, measured = self.origins.spelled(attributes)
            result = sym._internal._with_extents(
                *symbols, *measured, operator=name, attributes=text, num_shapes=len(measured)
            )
        if self._reads_alike:
            self.specs.alike.add(result._heads[0].node)
        return result

    def symbol(self, value: Any) -> Symbol:
        """A value as a symbol."""
        if isinstance(value, OpenArray):
            if value.symbol is None:
                value.symbol = self._computed_extents(value)
            return value.symbol
        return value if isinstance(value, Symbol) else self.arrays.symbol(value, self.scope)

    def _computed_extents(self, value: OpenArray) -> Symbol:
        text, measured = self.origins.spelled(tuple(value.array.reshape(-1)))
        symbol = sym._internal._extents(*measured, values=text, dtype=value.dtype.name)
        if len(value.shape) > 1:
            symbol = sym.Reshape(symbol, shape=value.shape)
        self.specs.note(symbol._heads[0], value.shape or (1,), value.dtype)
        return cast("Symbol", self.mark_scalar(symbol, not value.shape))

    def input(
        self,
        name: str,
        shape: tuple[Extent, ...],
        dtype: np.dtype,
        known: tuple[int, ...],
        why: str = "",
    ) -> None:
        """Declare an input of the graph; one without axes has one axis of extent 1 here.

        Args:
            name: of the input.
            shape: with symbols for open extents.
            dtype: of its elements.
            known: the shape that the symbol declares, 0 for extents that are not known.
            why: where that is the only one, what an error says of another.
        """
        marks: dict[str, Any] = {ONE_SHAPE: why} if why else {}
        symbol = sym.Variable(name, shape=known or (1,), dtype=dtype, **marks)
        self.values[name] = self.variable(symbol, shape or (1,), dtype, not shape)

    def filled(self, shape: tuple[Extent, ...], number: float, dtype: np.dtype) -> Any:
        """An array of one number; an operator if its shape is open or large."""
        if not is_open(shape) and math.prod(shape) <= _SMALL:
            return np.full(tuple(int(each) for each in shape), number, dtype)
        value = float(number)
        array = self.op("_npi_full", shape=shape, value=value, dtype=np.dtype(dtype).name)
        self.specs.note(array._heads[0], shape, np.dtype(dtype))
        return array

    def counted(
        self, count: Extent, first: int = 0, step: int = 1, dtype: DTypeLike = np.int64
    ) -> Any:
        """Numbers in equal steps; an operator if their count is open or large."""
        if not is_open(count) and count <= _SMALL:
            return np.arange(first, first + count * step, step, dtype)
        kind = np.dtype(dtype).name
        array = self.op("_npi_indices", dimensions=(count,), dtype=kind)
        array = self.op("Reshape", array, shape=(-1,))
        for name, number in (("multiply", step), ("add", first)):
            if number != (name == "multiply"):
                array = self.op(f"_npi_{name}", array, np.asarray([number], dtype))
        return array

    def broadcast(self, array: np.ndarray | Symbol, shape: tuple[Extent, ...]) -> Any:
        """An array repeated to a shape; an operator if that is open or large."""
        if isinstance(array, np.ndarray) and not is_open(shape) and math.prod(shape) <= _SMALL:
            return np.array(np.broadcast_to(array, shape))
        return self.op("_npi_broadcast_to", array, shape=shape)

    def checked_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of an array that a reader is about to make.

        Raises:
            NotDefinedError: it is open, or too large for a parameter.
        """
        if is_open(tuple(shape)):
            raise NotDefinedError(
                f"it needs an array of shape {tuple(shape)}, which has to be known"
            )
        if math.prod(shape) > _LARGEST:
            raise NotDefinedError(f"it needs an array of shape {tuple(shape)}, which is too large")
        return tuple(shape)

    def reshaped(self, value: object, shape: tuple[Extent, ...]) -> Any:
        """A value in another shape.

        Open extents get MXNet's codes where these say the same: 0 for an axis that stays, -1 for one that
        follows from the others.
        """
        before = self.shape(value)
        codes = [
            0 if is_open(extent) and axis < len(before) and extent == before[axis] else extent
            for axis, extent in enumerate(shape)
        ]
        following = [axis for axis, extent in enumerate(codes) if is_open(extent)]
        if len(following) == 1 and -1 not in codes:
            codes[following[0]] = -1
        return self.op("Reshape", value, shape=tuple(codes))

    def places(self, shape: tuple[Extent, ...], axis: int) -> Any:
        """For each element of an array its place along an axis."""
        along = self.counted(shape[axis])
        form = tuple(-1 if i == axis else 1 for i in range(len(shape)))
        if isinstance(along, np.ndarray):
            return self.broadcast(along.reshape(form), shape)
        along = self.op("Reshape", along, shape=form)
        if any(i != axis and extent != 1 for i, extent in enumerate(shape)):
            along = self.broadcast(along, shape)
        return along

    def shape(self, value: Any) -> tuple[Any, ...]:
        """The shape of a value, with symbols for open extents."""
        return (
            self.specs.of(value._heads[0])[0] if isinstance(value, Symbol) else tuple(value.shape)
        )

    def known_shape(self, value: Symbol, shape: tuple[Extent, ...]) -> Symbol:
        """Note the shape of a result, where JAX has it in a form that says less of open extents."""
        if is_open(shape):
            dtype = self.dtype(value)
            self.specs.note(value._heads[0], tuple(map(simplified, shape)), dtype)
        return value

    def dtype(self, value: Any) -> np.dtype:
        """The dtype of a value."""
        return self.specs.of(value._heads[0])[1] if isinstance(value, Symbol) else value.dtype

    def constant(self, value: object, role: str) -> np.ndarray:
        """An input that must be constant.

        Raises:
            MXNetError: it depends on the model's inputs.
        """
        if isinstance(value, np.ndarray):
            return value
        raise MXNetError(
            f"{role} is computed from the model's inputs; it has to be a constant here"
        )

    def ints(self, value: object, role: str) -> list[Any]:
        """An input that is a list of integers, constant or computed from open extents."""
        if isinstance(value, OpenArray):
            return list(value.array.reshape(-1))
        return [int(each) for each in self.constant(value, role).reshape(-1)]

    # ---- values without axes --------------------------------------------------------------------

    def is_scalar(self, value: Any) -> bool:
        """Whether a value has no axes in the file."""
        if isinstance(value, (np.ndarray, OpenArray)):
            return not value.shape
        return value is not None and value._heads[0] in self._scalars

    def mark_scalar(self, value: object, scalar: bool = True) -> Any:
        """Note that a symbol of one element has no axes in the file; the symbol."""
        if scalar and isinstance(value, Symbol):
            self._scalars.add(value._heads[0])
        return value

    # ---- bodies ---------------------------------------------------------------------------------

    def variable(
        self, symbol: Symbol, shape: tuple[int, ...], dtype: np.dtype, scalar: bool
    ) -> Symbol:
        """A variable of the graph or of a body, with its shape and dtype."""
        self.specs.note(symbol._heads[0], shape, dtype)
        return cast("Symbol", self.mark_scalar(symbol, scalar))

    def inside(self, graph: Any, inputs: Sequence[Any]) -> tuple[Reading, list[Any]]:
        """Read a body with values for its inputs; what is known inside, and the outputs."""
        inner = Reading(self.opset, self)
        for each in graph.initializer:
            array = np.array(onnx_package().numpy_helper.to_array(each))
            inner.values[each.name] = inner.arrays.named(array, each.name)
        for info, value in zip(graph.input, inputs, strict=True):
            inner.values[info.name] = value
        for node in graph.node:
            inner.node(node)
        return inner, [inner.read(each.name, "an output") for each in graph.output]

    def within(self, opset: int, sets: Mapping[str, int]) -> Reading:
        """An empty graph, that of the function which defines the node that is being read.

        Args:
            opset: its operator set.
            sets: the versions of other domains.
        """
        inner = Reading(opset, self)
        inner.outer, inner.prefix = None, f"{self.scope}/"
        inner.sets = {**self.sets, **sets}
        return inner

    # ---- the walk -------------------------------------------------------------------------------

    def node(self, node: Any) -> None:
        """Read one node.

        Raises:
            MXNetError: its operator is unknown, or uses unsupported options.
        """
        helper = onnx_package().helper
        local = (node.domain, node.op_type) in self.functions
        reader = f"Node {node.name!r} ({node.op_type})"
        inputs = [self.read(name, reader) for name in node.input]
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        attributes = {k: v.decode() if isinstance(v, bytes) else v for k, v in attributes.items()}
        call = Call(node, attributes, inputs)
        label = node.name or (node.output[0] if node.output else node.op_type)
        self.scope, self._reads_alike = f"{self.prefix}{label}", key_of(node) in ALIKE
        values = None if local else self._without_arrays(call)
        if values is None:
            values = self._converted(call)
        values = list(values) if isinstance(values, (list, tuple)) else [values]
        scalar = node.op_type not in _GIVE_AXES and self._no_axes(inputs)
        for name, value in zip(node.output, values, strict=False):
            if not name:  # the file leaves this output out
                continue
            self.values[name] = self._called(value, name)
            if scalar and isinstance(value, Symbol) and self.shape(value) == (1,):
                self.mark_scalar(value)

    def _without_arrays(self, call: Call) -> Any:
        """Results of a node that depends on constants and open extents alone; None for any other."""
        present = [each for each in call.inputs if each is not None]
        if all(isinstance(each, np.ndarray) for each in present):
            values = computed(self, call)
            if call.node.op_type == "Constant" or any(map(self.arrays.may_be_weights, present)):
                for each in values if isinstance(values, list) else [values]:
                    self.arrays.stored(each)
            return values
        if all(isinstance(each, (np.ndarray, OpenArray)) for each in present):
            return followed(self, call)
        return None

    def _no_axes(self, inputs: Sequence[Any]) -> bool:
        """Whether none of a node's inputs has axes; one of them is no constant."""
        present = [each for each in inputs if each is not None]
        return any(isinstance(each, (Symbol, OpenArray)) for each in present) and all(
            map(self.is_scalar, present)
        )

    def _converted(self, call: Call) -> Any:
        node = call.node
        name = key_of(node)
        local = (node.domain, node.op_type) in self.functions
        reader = None if local else READERS.get(name)
        definition = None
        if reader is None and name not in REASONS:
            definition = definition_of(self, call)
        if reader is None and definition is None:
            if not is_of_onnx(node):
                raise MXNetError(
                    f"Operator {node.domain}.{node.op_type} of node {node.name!r} is not one of "
                    f"ONNX's own. Export the network without operators of {node.domain}."
                )
            raise MXNetError(
                f"ONNX operator {name} of node {node.name!r} cannot be read yet"
                f"{'' if name not in REASONS else ': ' + REASONS[name]}. Export the network "
                f"without it, or write it as a block of Gluon."
            )
        try:
            if reader is None:
                return read_definition(self, call, definition)
            return reader(self, call)
        except (
            ArithmeticError,
            AttributeError,
            InconclusiveDimensionOperation,
            LookupError,
            TypeError,
            ValueError,
            MXNetError,
        ) as error:
            if isinstance(error, MXNetError) and str(error).startswith("ONNX operator"):
                raise
            text = (str(error).splitlines() or [""])[0]
            if isinstance(error, (AttributeError, LookupError, TypeError)) and not isinstance(
                error, MXNetError
            ):
                text = f"an input or attribute is missing or of another kind ({text or type(error).__name__})"
            raise MXNetError(
                f"ONNX operator {name} of node {node.name!r} cannot be read: "
                f"{text.rstrip('.') or type(error).__name__}."
            ) from None

    def read(self, name: str, reader: str) -> Any:
        """The value of that name, here or around this body; None for an input that is left out.

        Args:
            name: of the value.
            reader: what reads it, for messages.
        """
        if not name:
            return None
        if name in self.values:
            return self.values[name]
        if self.outer is None:
            raise FileFormatError(
                f"{reader} reads {name!r}, which no earlier node produces; the file is damaged."
            )
        return self.outer.read(name, reader)

    def _called(self, value: object, name: str) -> Any:
        """The result of a node, named as in the file."""
        if not isinstance(value, Symbol):
            return value
        node = value._heads[0].node
        if (
            node.op is not None
            and not node.attrs.get("__onnx__")
            and len(value) == 1
            and value._heads[0].index == 0
        ):
            node.name = f"{self.prefix}{name}"
            node.attrs = {**node.attrs, "__onnx__": "1"}
        return value
