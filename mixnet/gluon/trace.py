"""Tracing a block: forward runs on placeholders, parameters become inputs of the graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mixnet.autograd.scope import RecordingScope
from mixnet.context import Context
from mixnet.graph.graph import Graph
from mixnet.ndarray.ndarray import NDArray
from mixnet.runtime.trace.trace import Trace
from mixnet.runtime.trace.trace_key import TraceKey
from mixnet.runtime.value.state import state
from mixnet.runtime.value.value import Spec, Value


class BlockTrace(Trace):
    """A trace in which parameters become placeholders when they are read."""

    def __init__(self) -> None:
        super().__init__()
        # parameter -> its placeholder handle, number among the placeholders, first value
        self.parameters: dict[Any, tuple[NDArray, int, Value]] = {}

    def parameter(self, parameter: Any, data: NDArray) -> NDArray:
        """The handle that represents a parameter while tracing."""
        if parameter not in self.parameters:
            value = self.placeholder(data._spec, parameter.name)
            if parameter._mx_made_at is not None:
                value.node.source = parameter._mx_made_at
            handle = data._wrap(value)
            self.parameters[parameter] = (handle, len(self.placeholders) - 1, value)
        return self.parameters[parameter][0]

    def written(self) -> list[tuple[int, Value]]:
        """Placeholders of parameters that were written, with their new values."""
        return [
            (number, handle._read())
            for handle, number, first in self.parameters.values()
            if handle._read() is not first
        ]


def placed(parameter: Any, data: NDArray) -> NDArray:
    """The array that represents a parameter: its own, or a placeholder while a block is traced."""
    array: NDArray = data if state.trace is None else state.trace.parameter(parameter, data)
    return array


def flatten(arguments: object) -> tuple[list[Any], Any]:
    """Arrays of nested lists, tuples and dicts, and the structure without them."""
    if isinstance(arguments, NDArray):
        return [arguments], type(arguments)
    if type(arguments) is tuple:
        kinds = []
        for each in arguments:
            if not isinstance(each, NDArray):
                break
            kinds.append(type(each))
        else:  # only arrays, as in most calls
            return list(arguments), (tuple, tuple(kinds))
    if isinstance(arguments, (list, tuple)):
        parts = [flatten(each) for each in arguments]
        leaves = [leaf for part, _ in parts for leaf in part]
        return leaves, (type(arguments), tuple(structure for _, structure in parts))
    if isinstance(arguments, dict):
        leaves, structure = flatten(list(arguments.values()))
        return leaves, (dict, tuple(arguments), structure)
    return [], ("constant", arguments)


def unflatten(leaves: Iterator[Any], structure: Any, wrap: bool = False) -> Any:
    """Nested lists, tuples and dicts from a structure and replacements of its arrays.

    Args:
        leaves: one for each array.
        structure: from :func:`flatten`.
        wrap: the leaves are values, and become arrays of the original classes.
    """
    if isinstance(structure, type):
        leaf = next(leaves)
        return structure._wrap(leaf) if wrap else leaf  # type: ignore[attr-defined]
    if structure[0] == "constant":
        return structure[1]
    if structure[0] is dict:
        values = unflatten(leaves, structure[2], wrap)
        return dict(zip(structure[1], values, strict=True))
    kind, parts = structure
    children = [unflatten(leaves, part, wrap) for part in parts]
    return children if kind is list else kind(children) if kind is tuple else kind(*children)


def describe(structure: Any) -> str:
    """A structure as text: ``(NDArray, [NDArray, 3])``."""
    if isinstance(structure, type):
        return structure.__name__
    if structure[0] == "constant":
        return repr(structure[1])
    if structure[0] is dict:
        values = [describe(each) for each in structure[2][1]]
        pairs = zip(structure[1], values, strict=True)
        return "{" + ", ".join(f"{key!r}: {value}" for key, value in pairs) + "}"
    kind, parts = structure
    inside = ", ".join(describe(each) for each in parts)
    return f"[{inside}]" if kind is list else f"({inside})"


class Program:
    """The program of a hybridized block: a graph, its parameters, and the structure of its outputs.

    ``graph`` takes the arrays among the arguments, then ``parameters``, then ``captured`` values, then a
    random key if needed. ``key`` is the trace key. ``is_cut`` says whether shapes depend on values, so that
    it runs in parts, which have keys of their own.
    """

    graph: Graph
    parameters: list[Any]
    captured: list[Value]
    outputs: Any
    key: TraceKey
    context: Context
    is_cut = False

    def parameter_handles(self, context: Context) -> list[NDArray]:
        """The parameters' arrays on a context, in the order of the graph's inputs."""
        handles = []
        for each in self.parameters:
            handles.append(each._on(context))  # only forward calls their data()
        return handles


class Traced(Program):
    """A block whose forward has run on placeholders.

    Args:
        forward: the function to run.
        specs: specs of the arrays among its arguments.
        structure: the arguments without their arrays.
        training: whether operators train.
        context: the context of random numbers.
    """

    def __init__(
        self,
        forward: Any,
        specs: Sequence[Spec],
        structure: object,
        training: bool,
        context: Context,
    ):
        trace = BlockTrace()
        with RecordingScope(None, training), trace:
            names = ["data"] if len(specs) == 1 else [f"data{i}" for i in range(len(specs))]
            values = [trace.placeholder(s, n) for s, n in zip(specs, names, strict=True)]
            arguments = unflatten(iter(values), structure, wrap=True)
            result = forward(*arguments)
            leaves, self.outputs = flatten(result)
            states = trace.written()
            self.graph: Graph = trace.graph([leaf._read() for leaf in leaves], states)
        self.parameters = list(trace.parameters)
        self.key = TraceKey(
            tuple(specs),
            training,
            tuple(names),
            describe(structure),
            {each.name: handle._spec for each, (handle, _, _) in trace.parameters.items()},
        )
        self.captured = list(trace.captured.values())
        self.context = context
