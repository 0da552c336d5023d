"""The ONNX graph under construction: nodes, constants and unique names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from mixnet.onnx.export.file import without_content
from mixnet.onnx.export.fold import folded
from mixnet.onnx.package import onnx_package, type_code

# From these operator sets on axes come as an input and not as an attribute.
_AXES_INPUT = {"ReduceSum": 13}
_AXES_INPUT_OTHERS = 18
_SHARED_BYTES = 1024  # constants up to this size are written once however often they are used


@dataclass
class Step:
    """One node of the ONNX graph; attributes as Python values, graphs as :class:`Builder`."""

    op_type: str
    inputs: list[str]
    outputs: list[str]
    name: str
    doc: str
    attributes: dict[str, Any] = field(default_factory=dict)


class Builder:
    """The nodes and constants of a graph, or of the body of a loop or branch.

    ``builder.Relu(x)`` adds a node and returns the name of its output. An input that is a list
    or an array becomes a constant, None an omitted input.

    Args:
        opset: the operator set to write.
        outer: the graph whose values this body may read.
    """

    def __init__(self, opset: int, outer: Builder | None = None):
        self.opset = opset
        self.outer = outer
        self.steps: list[Step] = []
        self.constants: dict[str, np.ndarray] = {}
        self.inputs: list[tuple[str, Any, Any]] = []  # name, dtype, dims or None
        self.outputs: list[tuple[str, Any, Any]] = []
        self.infos: list[tuple[str, Any, Any]] = []
        self.scope = ""
        self.doc = ""
        self._used: set[str] = set() if outer is None else outer._used
        self._steps_used: set[str] = set() if outer is None else outer._steps_used
        self._own: set[str] = set() if outer is None else outer._own
        """Constants that conversions made: no parameter, which stays what it is."""
        self._shared: dict[Any, str] = {}
        self.floats: dict[str, str] = {}
        """By name of a value in int32 the floats that it was rounded from."""
        if outer is not None:
            self.scope, self.doc = outer.scope, outer.doc

    # ---- names ----------------------------------------------------------------------------------

    def fresh(self, base: str) -> str:
        """``base``, with a number appended if another value has that name."""
        return _unused(base, self._used)

    def fresh_step(self, base: str) -> str:
        """A name for a node, numbered where another has it: a layer that is called twice is two nodes."""
        return _unused(base, self._steps_used)

    def body(self) -> Builder:
        """An empty graph nested in this one."""
        return Builder(self.opset, self)

    # ---- nodes ----------------------------------------------------------------------------------

    def __getattr__(self, op_type: str) -> Callable[..., str]:
        if not op_type[:1].isupper():
            raise AttributeError(op_type)
        return self.operator(op_type)

    def operator(self, op_type: str) -> Callable[..., str]:
        """A function that adds a node with one output; ``b.Relu`` is short for ``b.operator("Relu")``."""

        def add(*inputs: object, **attributes: object) -> str:
            return self.add(op_type, inputs, attributes)

        return add

    def add(self, op_type: str, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> str:
        """Add a node with one output; the name of that."""
        return self.add_several(op_type, inputs, 1, attributes)[0]

    def add_several(
        self, op_type: str, inputs: Sequence[Any], outputs: int, attributes: Mapping[str, Any]
    ) -> list[str]:
        """Add a node; the names of its ``outputs`` outputs."""
        names = [self.value(each) for each in inputs]
        computed = self._folded(op_type, names, attributes) if outputs == 1 else None
        if computed is not None:
            return [self.constant(computed)]
        while names and not names[-1]:
            names.pop()
        name = self.fresh(f"{self.scope}/{op_type}")
        results = [name] + [self.fresh(f"{name}_{i}") for i in range(1, outputs)]
        written = {key: value for key, value in attributes.items() if value is not None}
        self.steps.append(Step(op_type, names, results, name, self.doc, written))
        return results

    def _folded(
        self, op_type: str, names: list[str], attributes: Mapping[str, Any]
    ) -> np.ndarray | None:
        arrays = [self.known(name) for name in names]
        if any(each is None for each in arrays) or not self._own.issuperset(names):
            return None
        return folded(op_type, cast("list[np.ndarray]", arrays), attributes)

    def value(self, content: object) -> str:
        """The name of a value, of a constant for numbers, empty for None."""
        if content is None:
            return ""
        return content if isinstance(content, str) else self.constant(content)

    def constant(self, value: Any, dtype: Any = None, name: str | None = None) -> str:
        """The name of a constant; integers are int64 unless ``dtype`` is given."""
        array = np.asarray(value, dtype)
        if dtype is None and array.dtype.kind in "iu" and not isinstance(value, np.ndarray):
            array = array.astype(np.int64)
        if not array.size and dtype is None and not isinstance(value, np.ndarray):
            array = array.astype(np.int64)
        key = (array.dtype, array.shape, array.tobytes()) if array.nbytes <= _SHARED_BYTES else None
        if name is None and key in self._shared:
            return self._shared[key]
        if name is None:
            name = self.fresh(f"{self.scope}/constant")
            self._own.add(name)
        else:
            name = self.fresh(name)
        self.constants[name] = array
        if key is not None:
            self._shared.setdefault(key, name)
        return name

    def known(self, name: str) -> np.ndarray | None:
        """The array of a constant; None for all other values."""
        if name in self.constants:
            return self.constants[name]
        return None if self.outer is None else self.outer.known(name)

    # ---- a few things that many conversions need ------------------------------------------------

    def cast(self, value: str, dtype: Any, before: Any = None) -> str:
        """A value in a dtype; the value itself where ``before`` is that dtype already."""
        if before is not None and np.dtype(before) == np.dtype(dtype):
            return value
        return self.Cast(value, to=type_code(dtype))

    def permuted(self, value: str, order: Sequence[int], inverse: bool = False) -> str:
        """A value whose axis ``i`` is axis ``order[i]`` of the given one, or ``inverse``; itself
        where none moves.
        """
        axes = [int(i) for i in (np.argsort(order) if inverse else order)]
        return value if axes == sorted(axes) else self.Transpose(value, perm=axes)

    def reduce(self, op_type: str, value: str, axes: Iterable[int] | None, keep: bool) -> str:
        """``ReduceSum`` or another reduction over some axes, over all for None."""
        listed = None if axes is None else [int(axis) for axis in axes]
        if listed == []:
            return value
        if self.opset >= _AXES_INPUT.get(op_type, _AXES_INPUT_OTHERS):
            return self.add(op_type, (value, listed), {"keepdims": int(keep)})
        return self.add(op_type, (value,), {"axes": listed, "keepdims": int(keep)})

    def split(self, value: str, axis: int, sizes: Sequence[int]) -> list[str]:
        """Parts of a value along an axis."""
        return self.add_several("Split", (value, list(sizes)), len(sizes), {"axis": axis})

    def slice(self, value: str, axis: int, start: int, end: int, step: int = 1) -> str:
        """Part of a value along an axis."""
        return self.Slice(value, [start], [end], [axis], [step])

    def extent(self, value: str, axis: int) -> str:
        """The extent of an axis, an int64 array of one element."""
        return self.Gather(self.Shape(value), [axis], axis=0)

    # ---- the finished graph ---------------------------------------------------------------------

    def rename(self, value: str, base: str, since: int) -> str:
        """Rename the result of one of the steps from index ``since`` to ``base``.

        If that is not possible, add a node ``Identity`` with that name.
        """
        steps = self.steps[since:]
        maker = next((step for step in steps if value in step.outputs), None)
        if maker is None or any(
            isinstance(a, Builder) for s in steps for a in s.attributes.values()
        ):
            value = self.Identity(value)
            steps = self.steps[-1:]
            maker = steps[0]
        name = self.fresh(base)
        for step in steps:
            step.inputs = [name if each == value else each for each in step.inputs]
            step.outputs = [name if each == value else each for each in step.outputs]
        if value in self.floats:
            self.floats[name] = self.floats.pop(value)
        return name

    def graph(self, name: str, doc: str = "", outside: Collection[str] = ()) -> Any:
        """The ``GraphProto``; constants as initializers, those in ``outside`` without content."""
        onnx = onnx_package()
        helper = onnx.helper
        tensors = [
            without_content(n, a) if n in outside else onnx.numpy_helper.from_array(a, name=n)
            for n, a in self.constants.items()
        ]

        def info(each: tuple[str, Any, Any]) -> Any:
            label, dtype, dims = each
            return helper.make_tensor_value_info(label, type_code(dtype), dims)

        return helper.make_graph(
            [_node(step) for step in self.steps],
            name,
            [info(each) for each in self.inputs],
            [info(each) for each in self.outputs],
            tensors,
            doc_string=doc or None,
            value_info=[info(each) for each in self.infos],
        )


def _unused(base: str, used: set[str]) -> str:
    """``base``, with a number appended if it is used; from now on it is."""
    name, number = base, 0
    while name in used:
        number += 1
        name = f"{base}_{number}"
    used.add(name)
    return name


def _node(step: Step) -> Any:
    fields = {
        key: value.graph(f"{step.name}/{key}") if isinstance(value, Builder) else value
        for key, value in step.attributes.items()
    }
    return onnx_package().helper.make_node(
        step.op_type,
        step.inputs,
        step.outputs,
        name=step.name,
        doc_string=step.doc or None,
        **fields,
    )


def values_read(step: Step) -> set[str]:
    """Names of the values that a node reads, those that its bodies read included."""
    names = set(step.inputs)
    for value in step.attributes.values():
        if isinstance(value, Builder):
            names |= {name for inner in value.steps for name in values_read(inner)}
            names |= {name for name, _, _ in value.outputs}
    return names
