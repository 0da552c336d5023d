"""An ONNX graph as a symbol: the traversal of its nodes, and shapes known along the way."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

import jax
import numpy as np
from jax.errors import InconclusiveDimensionOperation
from numpy.typing import DTypeLike

import mixnet.onnx.load.readers  # noqa: F401 - fills the table
from mixnet import symbol as sym
from mixnet.base import FileFormatError, MXNetError, NotDefinedError, ShapeError
from mixnet.export.network import as_function
from mixnet.graph.node import Entry
from mixnet.onnx.extents import Extent, is_open, simplified
from mixnet.onnx.load.constant import computed
from mixnet.onnx.load.extents import OpenArray, Origins, followed, open_extent
from mixnet.onnx.load.functions import definition_of, is_of_onnx, read_definition
from mixnet.onnx.load.table import ALIKE, MAIN, READERS, REASONS, Call, key_of
from mixnet.onnx.package import onnx_package
from mixnet.passes.infer_shape import ONE_SHAPE, evaluate_node
from mixnet.symbol.symbol import Symbol

NEWEST_READ = 28
OLDEST_READ = 7
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
        arrays: parameters by name.
        outer: what is known of the graph around this one, the body of a loop or branch.
    """

    def __init__(self, opset: int, arrays: dict[str, np.ndarray], outer: Reading | None = None):
        self.opset = opset
        self.sets: dict[str, int] = {} if outer is None else outer.sets
        """The versions of other domains of operators."""
        self.outer = outer
        self.values: dict[str, Any] = {}
        self.arrays: dict[str, np.ndarray] = arrays
        self.used: dict[str, np.ndarray] = {}
        self.constants: set[str] = set()
        """Names of used arrays that are numbers of the program, such as scales and masks: not trained."""
        self.rounded: dict[Entry, tuple[Symbol, Symbol]] = {} if outer is None else outer.rounded
        """Of quantized values what they were, and their whole numbers as floats."""
        self._keep: list[
            np.ndarray
        ] = []  # what has a name, which goes by the identity of the array
        self._stored: set[int] = set()
        """Identities of arrays of the file, and of those computed from them; readers make all others."""
        self._parameters: dict[str, Symbol] = {}
        self._specs: dict[Entry, tuple[tuple[int, ...], np.dtype]] = {}
        self._names: dict[int, str] = {}
        self.origins: Origins = Origins() if outer is None else outer.origins
        self._reads_alike = False
        """Whether the arrays of the node that is read have equal extents."""
        self._alike: set[Any] = set()
        """Nodes of such operators."""
        self._scalars: set[Entry] = set()
        """What has no axes in the file: a symbol of one axis here."""
        self.functions: dict[tuple[str, str], Any] = {} if outer is None else outer.functions
        """The file's own functions by domain and name."""
        self.prefix: str = "" if outer is None else outer.prefix
        """Of names inside of a function, which has the same ones at every call."""
        self.scope = ""
        if outer is not None:  # a body has its own values; what is known of them is common
            self.used, self.constants, self._keep = outer.used, outer.constants, outer._keep
            self._parameters, self._stored = outer._parameters, outer._stored
            self._specs, self._names, self._scalars = outer._specs, outer._names, outer._scalars
            self._alike = outer._alike

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
            self._alike.add(result._heads[0].node)
        return result

    def symbol(self, value: Any) -> Symbol:
        """A value as a symbol."""
        if isinstance(value, OpenArray):
            if value.symbol is None:
                value.symbol = self._computed_extents(value)
            return value.symbol
        return value if isinstance(value, Symbol) else self._parameter(value)

    def _computed_extents(self, value: OpenArray) -> Symbol:
        text, measured = self.origins.spelled(tuple(value.array.reshape(-1)))
        symbol = sym._internal._extents(*measured, values=text, dtype=value.dtype.name)
        if len(value.shape) > 1:
            symbol = sym.Reshape(symbol, shape=value.shape)
        self._specs[symbol._heads[0]] = (value.shape or (1,), value.dtype)
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
        self._specs[array._heads[0]] = (shape, np.dtype(dtype))
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

    def room(self, shape: Sequence[int]) -> tuple[int, ...]:
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
        return self._spec(value)[0] if isinstance(value, Symbol) else tuple(value.shape)

    def known_shape(self, value: Symbol, shape: tuple[Extent, ...]) -> Symbol:
        """Note the shape of a result, where JAX has it in a form that says less of open extents."""
        if is_open(shape):
            dtype = self.dtype(value)
            self._specs[value._heads[0]] = (tuple(map(simplified, shape)), dtype)
        return value

    def dtype(self, value: Any) -> np.dtype:
        """The dtype of a value."""
        return self._spec(value)[1] if isinstance(value, Symbol) else value.dtype

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
        self._specs[symbol._heads[0]] = (shape, dtype)
        return cast("Symbol", self.mark_scalar(symbol, scalar))

    def inside(self, graph: Any, inputs: Sequence[Any]) -> tuple[Reading, list[Any]]:
        """Read a body with values for its inputs; what is known inside, and the outputs."""
        inner = Reading(self.opset, self.arrays, self)
        for each in graph.initializer:
            array = np.array(onnx_package().numpy_helper.to_array(each))
            inner.values[each.name] = inner.named(array, each.name)
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
        inner = Reading(opset, self.arrays, self)
        inner.outer, inner.prefix = None, f"{self.scope}/"
        inner.sets = {**self.sets, **sets}
        return inner

    # ---- how it is kept -------------------------------------------------------------------------

    def named(self, array: np.ndarray, name: str) -> np.ndarray:
        """An array of the file, which becomes a parameter of that name if it is used."""
        self._names[id(array)] = name
        return self.stored(array)

    def stored(self, array: np.ndarray) -> np.ndarray:
        """An array of the file or one computed from such; training may change it."""
        self._stored.add(id(array))
        self._keep.append(array)
        return array

    def is_stored(self, value: object) -> bool:
        """Whether a value is an array of the file or computed from such."""
        return id(value) in self._stored

    def _parameter(self, array: np.ndarray) -> Symbol:
        name = self._names.get(id(array))
        if name is None:
            number = 0
            while f"{self.scope}_constant{number}" in self.used:
                number += 1
            name = f"{self.scope}_constant{number}"
            self._names[id(array)] = name
            self._keep.append(array)
        if name not in self.used:
            stored = array.reshape(1) if array.ndim == 0 else array  # a symbol's arrays have axes
            self.used[name] = stored
            if not self.is_stored(array) or not _is_trained(array):
                self.constants.add(name)
            variable = sym.Variable(name, shape=stored.shape, dtype=stored.dtype)
            self._parameters[name] = variable
            self._specs[variable._heads[0]] = (stored.shape, stored.dtype)
        return self._parameters[name]

    def _spec(self, value: Symbol) -> tuple[tuple[int, ...], np.dtype]:
        entry = value._heads[0]
        waiting = [entry]
        while waiting:
            node = waiting[-1].node
            missing = [e for e in node.inputs if e not in self._specs]
            if missing:
                waiting += missing
                continue
            waiting.pop()
            if Entry(node) not in self._specs:
                self._infer(node)
        return self._specs[entry]

    def _infer(self, node: Any) -> None:
        inputs = [self._specs[e] for e in node.inputs]
        if any(is_open(shape) for shape, _ in inputs):
            outputs = [
                (tuple(map(simplified, shape)), dtype)
                for shape, dtype in _open_outputs(node, inputs, node in self._alike)
            ]
        else:
            outputs = evaluate_node(node, inputs)
        for i, (shape, dtype) in enumerate(outputs):
            self._specs[Entry(node, i)] = (tuple(shape), np.dtype(dtype))

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
        own = node.name or (node.output[0] if node.output else node.op_type)
        self.scope, self._reads_alike = f"{self.prefix}{own}", key_of(node) in ALIKE
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
        if all(isinstance(each, (np.ndarray, type(None))) for each in call.inputs):
            values = computed(self, call)
            if call.node.op_type == "Constant" or any(map(self._holds_weights, call.inputs)):
                for each in values if isinstance(values, list) else [values]:
                    self.stored(each)
            return values
        if all(isinstance(each, (np.ndarray, OpenArray, type(None))) for each in call.inputs):
            return followed(self, call)
        return None

    def _holds_weights(self, value: Any) -> bool:
        """Whether a constant may be weights, of floats or of a byte each; other integers are extents."""
        if not self.is_stored(value) or not value.ndim:
            return False
        return _is_trained(value) or value.dtype in (np.int8, np.uint8)

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


def _open_outputs(node: object, inputs: list[Any], alike: bool) -> list[Any]:
    """Shapes and dtypes of the results of a node some of whose extents are open.

    Args:
        node: of the graph.
        inputs: shapes and dtypes of its inputs.
        alike: whether these have equal extents. They may be computed in ways of which this cannot be seen,
            as ``2 * (n // 2)`` for ``n``; they are then taken to be those of the first input, along as few
            axes as possible. Where they are not, the call is an error.
    """
    try:
        return _evaluated(node, inputs)
    except Exception:
        first = inputs[0][0]
        others = [shape for shape, _ in inputs if len(shape) == len(first)]
        differ = [
            axis
            for axis, extent in enumerate(first)
            if any(shape[axis] != extent and is_open((shape[axis], extent)) for shape in others)
        ]
        for count in range(1, len(differ) + 1) if alike else ():
            for axes in itertools.combinations(differ, count):
                try:
                    return _evaluated(node, [_like(first, each, axes) for each in inputs])
                except Exception:
                    continue
        raise


def _like(first: tuple[Any, ...], spec: Any, axes: tuple[int, ...]) -> Any:
    """The shape and dtype of an array with the extents of the first one along these axes."""
    shape, dtype = spec
    if len(shape) != len(first):
        return spec
    own = enumerate(zip(first, shape, strict=True))
    return tuple(a if axis in axes and is_open((a, b)) else b for axis, (a, b) in own), dtype


def _evaluated(node: Any, inputs: list[Any]) -> list[Any]:
    structs = [jax.ShapeDtypeStruct(*each) for each in inputs]
    with jax.enable_x64(True):
        results = jax.eval_shape(as_function(node), *structs)
    return [(each.shape, each.dtype) for each in results]


def _is_trained(array: np.ndarray) -> bool:
    """Whether an array of a file is one that training changes.

    Files do not tell weights from other numbers. Exporters write a program's own numbers, as the scale
    of attention, without axes, and masks with an infinity, of which an update would make NaN.
    """
    if array.dtype.kind != "f" and "float" not in array.dtype.name:  # bfloat16 is of kind V
        return False
    return array.ndim > 0 and bool(np.isfinite(array).all())


_OF_EXTENTS = {"_with_extents", "_extents", "_of_shape"}
"""Operators that MXNet does not have."""


def read_graph(
    model: Any,
    shapes: Mapping[str, Any] | None,
    arrays: dict[str, np.ndarray],
    fixed: bool = False,
) -> tuple[Symbol, Reading, list[str]]:
    """The symbol of a model, and names of its inputs.

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
) -> tuple[Symbol, Reading, list[str]]:
    """The symbol of a model, and names of its inputs.

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
    everything = [each.open_axes() for each in inputs]
    batches = [{a: name for a, name in each.items() if a == 0} for each in everything]
    why = ""
    for opened in (everything, batches) if batches != everything else (everything,):
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
        """What names the extents that stay open where possible, by axis."""
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
        alone = (
            f"For another shape, import the file with input_shapes={{{self.name!r}: (...)}}."
            if self.is_fixed
            else ""
        )
        reading.input(self.name, shape, _dtype_of(self.info), known, alone)
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
) -> tuple[Symbol, Reading, list[str]]:
    """The same as :func:`read_graph`, with these extents of each input open."""
    reading = Reading(_opset_of(model), arrays)
    reading.sets = {each.domain: each.version for each in model.opset_import}
    reading.functions = {(each.domain, each.name): each for each in model.functions}
    for name, array in arrays.items():
        reading.values[name] = reading.named(array, name)
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
    return group, reading, [each.name for each in inputs]


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
