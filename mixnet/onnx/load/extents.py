"""Extents that a file leaves open, and what it computes from them.

A dimension that is open is a symbol of JAX's shape polymorphism while the file is read. Arrays of whole
numbers that depend on such symbols, such as a target shape, are kept as arrays of expressions. What is made
of them becomes an attribute that is computed from the shapes of the model's inputs at each call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from jax import core, export
from numpy.typing import DTypeLike

from mixnet.base import NotDefinedError
from mixnet.onnx.extents import Extent, above, is_negative, is_open, simplified
from mixnet.onnx.load.table import Call
from mixnet.onnx.package import onnx_package
from mixnet.symbol.symbol import Symbol

if TYPE_CHECKING:
    from mixnet.onnx.load.reading import Reading

Elements: TypeAlias = "np.ndarray | Sequence[Extent] | Extent"
_SCOPE = export.SymbolicScope()
# One for all files: shapes are keys of caches, and symbols of different scopes cannot be compared.
_NAME = re.compile(r"\bopen(\d+)\b")
_POWER = re.compile(r"\b(open\d+)\^(\d+)")


def open_extent(number: int) -> Any:
    """The symbol of an open dimension."""
    return export.symbolic_shape(f"open{number}", scope=_SCOPE)[0]


class OpenArray:
    """An array of whole numbers that depend on open extents.

    Args:
        array: of objects: numbers, and expressions of symbols.
        dtype: what it has in the file.
    """

    def __init__(self, array: np.ndarray, dtype: np.dtype):
        self.array, self.dtype = array, dtype
        self.symbol: Symbol | None = None
        """The symbol that computes it, where one is needed."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Its own extents, which are known."""
        return tuple(self.array.shape)


def array_of(elements: Elements, dtype: DTypeLike = np.int64) -> Any:
    """Whole numbers and expressions as an array: of numbers, or an :class:`OpenArray`."""
    dtype = np.dtype(dtype)
    array = elements if isinstance(elements, np.ndarray) else _objects(elements)
    if any(is_open(each) for each in array.reshape(-1)):
        flat = _objects([simplified(each) for each in array.reshape(-1)])
        return OpenArray(flat.reshape(array.shape), dtype)
    return array.astype(dtype)


def _objects(elements: Elements) -> np.ndarray:
    shape: tuple[int, ...] = (len(elements),) if isinstance(elements, (tuple, list)) else ()
    elements = elements if isinstance(elements, (tuple, list)) else [elements]
    array = np.empty(len(elements), object)
    array[:] = elements
    return array.reshape(shape)


class Origins:
    """Where each symbol is the extent of an input."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._axes: dict[int, tuple[Symbol, int]] = {}

    def number(self, name: object) -> int:
        """The number of the symbol for a dimension; the same for equal names."""
        return self._numbers.setdefault(name, len(self._numbers))

    def set(self, number: int, source: Symbol, axis: int) -> None:
        """Say which input has it; the first one counts."""
        self._axes.setdefault(number, (source, axis))

    def axis_of(self, extent: object) -> tuple[Symbol, int] | None:
        """The input and the axis that have this extent; None for what is computed of extents."""
        match = _NAME.fullmatch(str(extent)) if is_open(extent) else None
        return None if match is None else self._axes[int(match[1])]

    def spelled(self, value: object) -> tuple[str, list[Symbol]]:
        """Numbers and expressions as text for the operators of extents, and the arrays that it reads."""
        text = str(_Text(value))
        text = _POWER.sub(lambda m: "(" + "*".join([m[1]] * int(m[2])) + ")", text)
        if "^" in text:
            raise NotDefinedError(f"the extent {value} is too complicated")
        numbers = sorted({int(each) for each in _NAME.findall(text)})
        sources = [self._axes[each] for each in numbers]
        arrays: list[Symbol] = []
        for symbol, _ in sources:
            if not any(symbol is each for each in arrays):
                arrays.append(symbol)
        names = {}
        for number, (symbol, axis) in zip(numbers, sources, strict=True):
            place = next(i for i, each in enumerate(arrays) if each is symbol)
            names[number] = f"shape{place}[{axis}]"
        return _NAME.sub(lambda m: names[int(m[1])], text), arrays


class _Text:
    """Text of nested values in which expressions stand without quotation marks."""

    def __init__(self, value: object):
        self.value = value

    def __str__(self) -> str:
        value = self.value
        if isinstance(value, dict):
            return "{" + ", ".join(f"{k!r}: {_Text(v)}" for k, v in value.items()) + "}"
        if isinstance(value, (tuple, list)):
            return "(" + "".join(f"{_Text(each)}, " for each in value) + ")"
        if is_open(value):
            return f"({value})"
        return repr(value.item() if isinstance(value, np.generic) else value)


def equal(a: Extent, b: Extent) -> bool:
    """Whether two extents are equal, whatever the symbols are.

    Raises:
        NotDefinedError: that depends on the symbols.
    """
    if a == b or not is_open((a, b)):
        return bool(a == b)
    if above(a, b) or above(b, a):
        return False
    raise NotDefinedError(f"whether {a} and {b} are equal depends on the input")


def larger(a: Extent, b: Extent) -> Extent:
    """The larger one of two extents."""
    return core.max_dim(a, b) if is_open((a, b)) else max(a, b)


def broadcast(left: Sequence[Extent], right: Sequence[Extent]) -> tuple[Extent, ...]:
    """The shape of two arrays that are repeated to fit each other.

    Raises:
        NotDefinedError: it depends on symbols.
    """
    rank = max(len(left), len(right))
    if not is_open([*left, *right]):
        return np.broadcast_shapes(tuple(left), tuple(right))
    shapes = [(*(1,) * (rank - len(each)), *each) for each in (left, right)]
    shape = []
    for a, b in zip(*shapes, strict=True):
        if a != b and (is_open(a) or a != 1) and (is_open(b) or b != 1):
            raise NotDefinedError(f"whether {a} and {b} are equal depends on the input")
        shape.append(b if not is_open(a) and a == 1 else a)
    return tuple(shape)


Rule = Callable[["Reading", Call, "list[Any]"], Any]
RULES: dict[str, Rule] = {}
"""By ONNX operator: what it makes of arrays of numbers and expressions; None where it makes nothing."""


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Decorator that adds a rule for operators."""

    def add(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return add


def followed(g: Reading, call: Call) -> Any:
    """Results of a node whose inputs depend on nothing but open extents; None if it has no rule for them."""
    function = RULES.get(call.node.op_type) if call.node.domain in ("", "ai.onnx") else None
    if function is None:
        return None
    arrays = [each.array if isinstance(each, OpenArray) else each for each in call.inputs]
    try:
        results = function(g, call, arrays)
    except Exception:  # what it computes depends on symbols: a node as any other, of arrays
        return None
    if results is None:
        return None
    several = isinstance(results, list)
    dtype = next((e.dtype for e in call.inputs if isinstance(e, OpenArray)), np.dtype(np.int64))
    values = [
        each if not isinstance(each, np.ndarray) or each.dtype != object else array_of(each, dtype)
        for each in (results if several else [results])
    ]
    return values if several else values[0]


# ---- the rules -------------------------------------------------------------------------------------


@rule("Identity")
def _(g: Reading, call: Call, arrays: list[Any]) -> Any:
    return arrays[0]


@rule("Cast")
def _(g: Reading, call: Call, arrays: list[Any]) -> Any:
    dtype = np.dtype(onnx_package().helper.tensor_dtype_to_np_dtype(call.get("to")))
    return OpenArray(arrays[0], dtype) if dtype.kind in "iu" else None


_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": np.floor_divide,
    "Mod": np.mod,
}


@rule(*_ARITHMETIC)
def _(g: Reading, call: Call, arrays: list[Any]) -> Any:
    left, right = (each.astype(object) for each in arrays)
    if call.node.op_type == "Div" and any(map(is_negative, (*left.flat, *right.flat))):
        return None  # ONNX rounds towards zero
    return np.asarray(_ARITHMETIC[call.node.op_type](left, right), object)


@rule("Neg")
def _(g: Reading, call: Call, arrays: list[Any]) -> Any:
    return np.asarray(-arrays[0], object)


@rule("Max", "Min")
def _(g: Reading, call: Call, arrays: list[Any]) -> Any:
    choose = np.frompyfunc(core.max_dim if call.node.op_type == "Max" else core.min_dim, 2, 1)
    result = arrays[0].astype(object)
    for each in arrays[1:]:
        result = np.asarray(choose(result, each.astype(object)), object)
    return result


@rule("ReduceProd", "ReduceSum")
def _(g: Reading, call: Call, arrays: list[Any]) -> Any:
    axes = call.get("axes") if call.input(1) is None else arrays[1].tolist()
    if not axes and call.get("noop_with_empty_axes", 0):
        return arrays[0]
    reduce = np.prod if call.node.op_type == "ReduceProd" else np.sum
    keep = bool(call.get("keepdims", 1))
    return np.asarray(reduce(arrays[0], axis=tuple(axes) if axes else None, keepdims=keep), object)


@rule("Equal")
def _(g: Reading, call: Call, arrays: list[Any]) -> Any:
    return np.asarray(np.frompyfunc(equal, 2, 1)(*arrays), bool)


@rule("Where")
def _(g: Reading, call: Call, arrays: list[Any]) -> Any:
    condition = call.inputs[0]
    if not isinstance(condition, np.ndarray):
        return None
    return np.where(condition, *(each.astype(object) for each in arrays[1:]))


@rule("Gather")
def _(g: Reading, call: Call, arrays: list[Any]) -> Any:
    if isinstance(call.inputs[1], OpenArray):
        return None
    return np.asarray(np.take(arrays[0], arrays[1], axis=call.get("axis", 0)), object)


@rule("Concat")
def _(g: Reading, call: Call, arrays: list[Any]) -> Any:
    return np.concatenate([each.astype(object) for each in arrays], axis=call.get("axis"))


@rule("Squeeze", "Unsqueeze")
def _(g: Reading, call: Call, arrays: list[Any]) -> Any:
    axes = call.get("axes") if call.input(1) is None else arrays[1].reshape(-1).tolist()
    if call.node.op_type == "Unsqueeze":
        return np.expand_dims(arrays[0], tuple(axes))
    return np.squeeze(arrays[0], None if axes is None else tuple(axes))


@rule("Reshape", "Flatten", "Transpose", "Expand", "Tile")
def _(g: Reading, call: Call, arrays: list[Any]) -> Any:
    x, kind = arrays[0], call.node.op_type
    if len(arrays) > 1 and isinstance(call.inputs[1], OpenArray):
        return None
    if kind == "Reshape":
        return x.reshape([x.shape[i] if e == 0 else e for i, e in enumerate(arrays[1].tolist())])
    if kind == "Expand":
        return np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(arrays[1].tolist())))
    if kind == "Flatten":
        axis = call.get("axis", 1)
        return x.reshape(int(np.prod(x.shape[:axis])), -1)
    return np.tile(x, arrays[1].tolist()) if kind == "Tile" else x.transpose(call.get("perm"))


@rule("Slice")
def _(g: Reading, call: Call, arrays: list[Any]) -> Any:
    if g.opset < 10 or any(isinstance(each, OpenArray) for each in call.inputs[1:]):
        return None
    starts, ends, axes, steps = (
        None if i >= len(arrays) or arrays[i] is None else arrays[i].reshape(-1).tolist()
        for i in range(1, 5)
    )
    selection = [slice(None)] * arrays[0].ndim
    assert starts is not None and ends is not None
    for i, axis in enumerate(axes or range(len(starts))):
        last = None if steps and steps[i] < 0 and ends[i] < -arrays[0].shape[axis] else ends[i]
        selection[axis] = slice(starts[i], last, steps[i] if steps else 1)
    return arrays[0][tuple(selection)]


@rule("Split")
def _(g: Reading, call: Call, arrays: list[Any]) -> Any:
    sizes = call.get("split") if call.input(1) is None else arrays[1].tolist()
    places = len(call.node.output) if sizes is None else np.cumsum(sizes)[:-1]
    return list(np.split(arrays[0], places, axis=call.get("axis", 0)))


@rule("Shape", "Size")
def _(g: Reading, call: Call, arrays: list[Any]) -> Any:
    shape = arrays[0].shape
    if call.node.op_type == "Size":
        return np.asarray(np.prod(shape), np.int64)
    return np.asarray(shape[call.get("start", 0) : call.get("end")], np.int64)


@rule("Range")
def _(g: Reading, call: Call, arrays: list[Any]) -> Any:
    start, end, step = (each.reshape(-1)[0] for each in arrays)
    if is_open((start, step)) or step == 0:
        return None
    count = (end - start + (step - (1 if step > 0 else -1))) // step
    return g.counted(count, start, step, call.inputs[1].dtype)


def fill_value(call: Call) -> Any:
    """The element of ``ConstantOfShape``, a float32 0 by default."""
    value = call.get("value")
    if value is None:
        return np.float32(0)
    return np.array(onnx_package().numpy_helper.to_array(value)).reshape(1)[0]


@rule("ConstantOfShape")
def _(g: Reading, call: Call, arrays: list[Any]) -> Any:
    number = fill_value(call)
    return g.filled(tuple(arrays[0]), number, number.dtype)
