"""The common input of all export formats: a prediction graph, its inputs and its parameter arrays."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mixnet.base import (
    AttributeTypeError,
    AttributeValueError,
    MXNetError,
    ShapeError,
    did_you_mean,
)
from mixnet.dtype import as_dtype
from mixnet.export.open_constants import follow_inputs
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node, made_in
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.params_file import load as load_arrays
from mixnet.passes.complete_shapes import complete_shapes
from mixnet.passes.set_training import set_training
from mixnet.symbol.symbol import Symbol
from mixnet.symbol.symbol import load as load_symbol


@dataclass(frozen=True)
class Input:
    """An input of the model.

    Args:
        name: of the variable.
        shape: numbers; None or a name for an extent that the model's user chooses.
        dtype: of its elements.
    """

    name: str
    shape: tuple[Any, ...]
    dtype: np.dtype

    @property
    def is_open(self) -> bool:
        """Whether an extent is left to the model's user."""
        return any(not isinstance(each, int) for each in self.shape)


def symbol_name(extent: str) -> str:
    """The name of an extent with the characters that JAX allows in names of symbolic dimensions."""
    name = "".join(c if c.isalnum() else "_" for c in extent)
    return name if name[:1].isalpha() else f"n_{name}"


@dataclass(frozen=True)
class Network:
    """A network that is to be exported.

    Args:
        graph: with operators in prediction mode.
        inputs: what the model's user gives.
        params: arrays of the other variables.
        output_names: one for each head of the graph; all differ.
    """

    graph: Graph
    inputs: list[Input]
    params: dict[str, np.ndarray]
    output_names: list[str]


def network_of(
    sym: object,
    params: object,
    in_shapes: object,
    in_types: object,
    dynamic: bool = False,
    dynamic_input_shapes: object = None,
    caller: str = "export_model",
    input_names: Sequence[str] | None = None,
) -> Network:
    """A network from what users have: a symbol and arrays, or paths of their files.

    Args:
        sym: a symbol, or the path of its file.
        params: arrays by name, with or without ``arg:`` and ``aux:`` before it; a list of such
            dicts, or the path of their file.
        in_shapes: shapes of the inputs, in the order of ``sym.list_inputs()`` without parameters and labels.
        in_types: dtypes of the inputs in that order, or one for all.
        dynamic: leave extents of the inputs to the model's user.
        dynamic_input_shapes: with ``dynamic``: ``in_shapes`` with None, or a name, for an extent that is left
            open; by default all are.
        caller: name of the function, for messages.
        input_names: the inputs in another order than the symbol's: that of the arguments about
            inputs, and of the result's ``inputs``.

    Raises:
        ShapeError: shapes are missing, or do not fit.
        AttributeTypeError: ``sym`` or ``params`` is something else.
    """
    symbol = sym if isinstance(sym, Symbol) else load_symbol(_path(caller, "sym", sym))
    arrays = _arrays(caller, params)
    inputs = _inputs(caller, symbol, arrays, in_shapes, in_types, input_names)
    known = {each.name: each.shape for each in inputs} | {n: a.shape for n, a in arrays.items()}
    graph = complete_shapes(symbol.graph, known)
    if dynamic:
        inputs = _opened(caller, inputs, dynamic_input_shapes)
        open_shapes = {each.name: each.shape for each in inputs}
        graph = follow_inputs(symbol.graph, graph, known, open_shapes)
    graph = set_training(graph, False)
    names = [name.removesuffix("_output") for name in symbol.list_outputs()]
    return Network(graph, inputs, arrays, _different(names))


def read_in_prediction(graph: Graph) -> list[Node]:
    """Variables that a prediction reads: all but labels of loss heads, in the graph's order."""
    variables: dict[Node, None] = {}
    visited: set[Node] = set()
    stack = [entry.node for entry in reversed(graph.heads)]
    while stack:
        node = stack.pop()
        if node in visited:
            continue
        visited.add(node)
        if node.is_variable:
            variables[node] = None
            continue
        stack += [entry.node for entry in reversed(predicted_inputs(node))]
    return [node for node in graph.nodes if node in variables]


def predicted_inputs(node: Node) -> tuple[Entry, ...]:
    """The inputs of a node that a prediction reads: all but labels."""
    return node.inputs[: len(node.inputs) - len(node.op.labels)]


def as_function(node: Node) -> Callable[..., Sequence[Any]]:
    """A node as a function of its arrays; one that draws numbers draws them from a fixed stream."""
    scalars = [np.float64(each) for each in node.scalars]
    op = node.op

    def run(*arrays: object) -> Any:
        if op.takes_key:
            return op.apply(
                node.statics, [*arrays, np.zeros(3, np.uint32)], [*scalars, np.float64(0)]
            )
        return op.apply(node.statics, arrays, scalars)

    return run


def draws(node: Node) -> bool:
    """Whether a run of an operator takes random numbers; of a loop or branch, whether a body does."""
    if not node.op.takes_key:
        return False
    if node.op.bodies is None:
        return bool(node.op.draws(node.statics))
    bodies = node.op.bodies(**node.op.keywords(node.statics))
    return any(body.draws(training=False) for body, _ in bodies)


def refusal(node: Node, format_name: str, why: str) -> MXNetError:
    """The error for a node that cannot be exported; names its operator, itself and the user's line."""
    return MXNetError(
        f"Operator {node.op.name} of node {node.name!r} cannot be expressed in {format_name}: "
        f"{why}{made_in(node)}"
    )


def _path(caller: str, name: str, value: object) -> str:
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    raise AttributeTypeError(
        f"{caller}: {name}={value!r:.60} is neither a symbol with its arrays nor the paths of "
        f"their files."
    )


def _arrays(caller: str, params: object) -> dict[str, np.ndarray]:
    """Arrays by name, without ``arg:`` and ``aux:``."""
    if isinstance(params, (list, tuple)):
        return {name: array for part in params for name, array in _arrays(caller, part).items()}
    if not isinstance(params, Mapping):
        params = load_arrays(_path(caller, "params", params))
        if not isinstance(params, Mapping):
            raise AttributeValueError(f"{caller}: the params file has arrays without names.")
    arrays = {}
    for name, array in params.items():
        array = array.data() if hasattr(array, "list_ctx") else array  # a parameter of Gluon
        arrays[name.removeprefix("arg:").removeprefix("aux:")] = np.asarray(
            array.asnumpy() if isinstance(array, NDArray) else array
        )
    return arrays


def _inputs(
    caller: str,
    symbol: Symbol,
    arrays: Mapping[str, Any],
    shapes: Any,
    types: Any,
    order: Sequence[str] | None,
) -> list[Input]:
    names = [node.name for node in read_in_prediction(symbol.graph) if node.name not in arrays]
    if order is not None:
        if sorted(order) != sorted(names):
            raise AttributeValueError(
                f"{caller}: input_names={list(order)} are not the inputs, which are "
                f"{', '.join(map(repr, names))}."
            )
        names = list(order)
    shapes = [] if shapes is None else list(shapes)
    if shapes and isinstance(shapes[0], int):
        shapes = [tuple(shapes)]
    labels = [n for n in symbol.list_inputs() if n not in arrays and n not in names]
    # With the shapes of labels, which prediction does not read.
    if len(shapes) == len(names) + len(labels):
        variables = [n for n in symbol.list_inputs() if n not in arrays]
        shapes = [shape for name, shape in zip(variables, shapes, strict=True) if name in names]
    if len(shapes) != len(names):
        missing = (
            f" A parameter without an array counts as one.{_near(names, arrays)}" if arrays else ""
        )
        raise ShapeError(
            f"{caller}: in_shapes has {len(shapes)} shape(s), but the inputs are "
            f"{', '.join(map(repr, names)) or 'none'}. Give one shape for each, in this order.{missing}"
        )
    kinds = list(types) if isinstance(types, (list, tuple)) else [types] * len(names)
    if len(kinds) != len(names):
        raise AttributeValueError(
            f"{caller}: in_types has {len(kinds)} dtypes for {len(names)} inputs."
        )
    return [
        Input(n, tuple(int(e) for e in s), np.dtype(as_dtype(t)))
        for n, s, t in zip(names, shapes, kinds, strict=True)
    ]


def _near(names: Sequence[str], arrays: Mapping[str, Any]) -> str:
    return did_you_mean(names[-1], arrays) if names else ""


def _opened(caller: str, inputs: Sequence[Input], shapes: Any) -> list[Input]:
    """The inputs with open extents."""
    if shapes is None:
        shapes = [(None,) * len(each.shape) for each in inputs]
    if len(shapes) != len(inputs) or any(
        len(s) != len(i.shape) for s, i in zip(shapes, inputs, strict=False)
    ):
        raise ShapeError(
            f"{caller}: dynamic_input_shapes={shapes} does not match the inputs "
            f"{', '.join(f'{each.name}{each.shape}' for each in inputs)}. Give each of their "
            "shapes, with None "
            f"or a name for a dynamic dimension."
        )
    return [Input(i.name, tuple(s), i.dtype) for i, s in zip(inputs, shapes, strict=True)]


def _different(names: Sequence[str]) -> list[str]:
    """The names, numbered where they repeat."""
    differences: list[str] = []
    for name in names:
        number, candidate = 0, name
        while candidate in differences:
            number += 1
            candidate = f"{name}_{number}"
        differences.append(candidate)
    return differences
