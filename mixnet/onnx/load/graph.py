"""An ONNX graph as a symbol: the traversal of its nodes, and shapes known along the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

import mixnet.onnx.load.readers  # noqa: F401 - fills the table
from mixnet import symbol as sym
from mixnet.base import FileFormatError, MXNetError, ShapeError
from mixnet.graph.node import Entry
from mixnet.onnx.load.constant import computed
from mixnet.onnx.load.functions import definition_of, is_of_onnx, read_definition
from mixnet.onnx.load.table import MAIN, READERS, REASONS, Call, key_of
from mixnet.onnx.package import onnx_package
from mixnet.passes.infer_shape import evaluate_node
from mixnet.symbol.symbol import Symbol

NEWEST_READ = 28
OLDEST_READ = 7
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
        self._parameters: dict[str, Symbol] = {}
        self._specs: dict[Entry, tuple[tuple[int, ...], np.dtype]] = {}
        self._names: dict[int, str] = {}
        self._scalars: set[Entry] = set()
        """What has no axes in the file: a symbol of one axis here."""
        self.functions: dict[tuple[str, str], Any] = {} if outer is None else outer.functions
        """The file's own functions by domain and name."""
        self.prefix: str = "" if outer is None else outer.prefix
        """Of names inside of a function, which has the same ones at every call."""
        self.scope = ""
        if outer is not None:  # a body has its own values; what is known of them is common
            self.used, self.constants, self._keep = outer.used, outer.constants, outer._keep
            self._parameters = outer._parameters
            self._specs, self._names, self._scalars = outer._specs, outer._names, outer._scalars

    # ---- what readers ask -----------------------------------------------------------------------

    def op(self, name: str, *inputs: Any, **attributes: Any) -> Any:
        """A symbol of an operator; arrays among the inputs become parameters."""
        symbols = [self.symbol(each) for each in inputs]
        return getattr(sym, name)(*symbols, **attributes)

    def symbol(self, value: Any) -> Symbol:
        """A value as a symbol."""
        return value if isinstance(value, Symbol) else self._parameter(value)

    def input(self, name: str, shape: tuple[int, ...], dtype: np.dtype) -> None:
        """Declare an input of the graph; one without axes has one axis of extent 1 here."""
        extents = shape or (1,)
        symbol = sym.Variable(name, shape=extents, dtype=dtype)
        self.values[name] = self.variable(symbol, extents, dtype, not shape)

    def shape(self, value: Any) -> tuple[int, ...]:
        """The shape of a value."""
        return tuple(value.shape) if isinstance(value, np.ndarray) else self._spec(value)[0]

    def dtype(self, value: Any) -> np.dtype:
        """The dtype of a value."""
        return value.dtype if isinstance(value, np.ndarray) else self._spec(value)[1]

    def constant(self, value: Any, role: str) -> np.ndarray:
        """An input that must be constant.

        Raises:
            MXNetError: it depends on the model's inputs.
        """
        if isinstance(value, np.ndarray):
            return value
        raise MXNetError(
            f"{role} is computed from the model's inputs; it has to be a constant here"
        )

    def ints(self, value: object, role: str) -> list[int]:
        """A constant input that is a list of integers."""
        return [int(each) for each in self.constant(value, role).reshape(-1)]

    # ---- values without axes --------------------------------------------------------------------

    def is_scalar(self, value: Any) -> bool:
        """Whether a value has no axes in the file."""
        if isinstance(value, np.ndarray):
            return value.ndim == 0
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
        """An array that becomes a parameter of that name if it is used."""
        self._names[id(array)] = name
        self._keep.append(array)
        return array

    def _parameter(self, array: np.ndarray) -> Symbol:
        name = self._names.get(id(array))
        if name is None:
            number = 0
            while f"{self.scope}_constant{number}" in self.used:
                number += 1
            name = f"{self.scope}_constant{number}"
            self.named(array, name)
        if name not in self.used:
            stored = array.reshape(1) if array.ndim == 0 else array  # a symbol's arrays have axes
            self.used[name] = stored
            if not _is_trained(array):
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
        outputs = evaluate_node(node, [self._specs[e] for e in node.inputs])
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
        self.scope = f"{self.prefix}{own}"
        values = (
            computed(self, call)
            if not local and all(isinstance(i, (np.ndarray, type(None))) for i in inputs)
            else None
        )
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

    def _no_axes(self, inputs: Sequence[Any]) -> bool:
        """Whether none of a node's inputs has axes; a symbol is among them."""
        present = [each for each in inputs if each is not None]
        return any(isinstance(each, Symbol) for each in present) and all(
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
            LookupError,
            TypeError,
            ValueError,
            MXNetError,
        ) as error:
            if isinstance(error, MXNetError) and str(error).startswith("ONNX operator"):
                raise
            text = (str(error).splitlines() or [""])[0]
            raise MXNetError(
                f"ONNX operator {name} of node {node.name!r} cannot be read: "
                f"{text or type(error).__name__}."
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

    def _called(self, value: Any, name: str) -> Any:
        """The result of a node, named as in the file."""
        if isinstance(value, np.ndarray):
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


def _is_trained(array: np.ndarray) -> bool:
    """Whether an array is one that training changes.

    Files do not tell weights from other numbers. Exporters write a program's own numbers, as the scale
    of attention, without axes, and masks with an infinity, of which an update would make NaN.
    """
    if array.dtype.kind != "f" and "float" not in array.dtype.name:  # bfloat16 is of kind V
        return False
    return array.ndim > 0 and bool(np.isfinite(array).all())


def read_graph(
    model: Any, shapes: Mapping[str, Any] | None, arrays: dict[str, np.ndarray]
) -> tuple[Symbol, Reading, list[str]]:
    """The symbol of a model, and names of its inputs.

    Args:
        model: a ``ModelProto``.
        shapes: shapes of inputs by name, for inputs with dynamic dimensions.
        arrays: its initializers.
    """
    sets = {each.domain: each.version for each in model.opset_import}
    only_others = bool(sets) and all(node.domain not in MAIN for node in model.graph.node)
    opset = sets.get("", sets.get("ai.onnx", NEWEST_READ if only_others else 0))
    if not OLDEST_READ <= opset <= NEWEST_READ:
        raise FileFormatError(
            f"The file is written in operator set {opset}; {OLDEST_READ} to {NEWEST_READ} can "
            "be read. Convert it "
            f"with onnx.version_converter."
        )
    reading = Reading(opset, arrays)
    reading.sets = sets
    reading.functions = {(each.domain, each.name): each for each in model.functions}
    for name, array in arrays.items():
        reading.values[name] = reading.named(array, name)
    names = []
    for each in model.graph.input:
        if each.name not in arrays:
            names.append(each.name)
            reading.input(each.name, _shape_of(each, shapes), _dtype_of(each))
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
    return group, reading, names


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
