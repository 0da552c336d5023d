"""A symbol's graph as an ONNX model: the traversal of its nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import mixnet.onnx.export.conversions  # noqa: F401 - fills the table
from mixnet.base import ShapeError
from mixnet.export.network import (
    Input,
    as_function,
    draws,
    read_in_prediction,
)
from mixnet.export.trace import traced
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.libinfo import __version__
from mixnet.onnx.export.builder import Builder, values_read
from mixnet.onnx.export.extents import OpenShapes
from mixnet.onnx.export.file import LARGEST, outside
from mixnet.onnx.export.primitives import Lowering, NoRule
from mixnet.onnx.export.table import CONVERSIONS, REASONS, Call, NotHere, refusal
from mixnet.onnx.export.unsigned import use_unsigned
from mixnet.onnx.package import onnx_package
from mixnet.passes.infer_shape import infer
from mixnet.process.source import Source


class Walk:
    """Converts the nodes of one graph.

    Args:
        graph: of a symbol, or the body of a loop.
        inputs: variables that remain inputs.
        params: arrays of all other variables by name.
        builder: receives the nodes.
    """

    def __init__(
        self,
        graph: Graph,
        inputs: Sequence[Input],
        params: Mapping[str, np.ndarray],
        builder: Builder,
    ):
        self.graph, self.inputs, self.params, self.b = graph, inputs, params, builder
        self.values: dict[Entry, str] = {}
        shapes: dict[str, Any] = {name: tuple(each.shape) for name, each in params.items()}
        for each in inputs:
            shapes[each.name] = tuple(e if isinstance(e, int) else 0 for e in each.shape)
        dtypes = {each.name: each.dtype for each in inputs}
        dtypes |= {name: each.dtype for name, each in params.items()}
        inferred = infer(graph, shapes, dtypes, np.dtype("float32"))
        self.shapes, self.dtypes = inferred.shapes, inferred.dtypes
        self.open: OpenShapes | None = None
        if any(each.is_open for each in inputs):
            input_shapes = {each.name: each.shape for each in inputs}
            self.open = OpenShapes(graph, input_shapes, inferred.shapes, inferred.dtypes)
            self.dtypes = self.open.dtypes

    def run(self) -> list[str]:
        """Names of the heads' values."""
        self._variables()
        for node in self._read():
            if not node.is_variable:
                self._node(node)
        return [self.value(entry) for entry in self.graph.heads]

    def value(self, entry: Entry) -> str:
        """The name of an entry's value."""
        return self.values[entry]

    def shape(self, entry: Entry) -> tuple[Any, ...]:
        """The shape of an entry, with None for dynamic dimensions."""
        if self.open is not None:
            return tuple(e if isinstance(e, int) else None for e in self.open.shapes.get(entry, ()))
        return tuple(e if e > 0 else 0 for e in self.shapes.get(entry) or ())

    def dtype(self, entry: Entry) -> np.dtype:
        """The dtype of an entry."""
        return np.dtype(self.dtypes.get(entry, np.float32))

    def _read(self) -> list[Node]:
        """Nodes that the heads depend on; a loss head does not need its label in prediction."""
        return Graph(self.graph.heads).nodes

    def _variables(self) -> None:
        inputs = {each.name: each for each in self.inputs}
        places = {name: i for i, name in enumerate(inputs)}
        variables = [node for node in self.graph.nodes if node.is_variable]
        # Inputs in the order in which they are given, which need not be the graph's.
        for node in sorted(variables, key=lambda node: places.get(node.name, len(places))):
            entry = Entry(node)
            if entry in self.values:
                continue
            if node.name in inputs:
                each = inputs[node.name]
                name = self.b.fresh(node.name)
                dims = [
                    d if isinstance(d, (int, str)) else f"{name}_axis{i}"
                    for i, d in enumerate(each.shape)
                ]
                self.b.inputs.append((name, each.dtype, dims))
                self.values[entry] = name
            elif node.name in self.params:
                self.values[entry] = self.b.constant(self.params[node.name], name=node.name)

    def _node(self, node: Node) -> None:
        self.b.scope = node.name
        # Only where lines were asked for: a file that is given away names no file of its author otherwise.
        source = node.line if isinstance(node.line, Source) else None
        self.b.doc = f"{node.op.name}" + (f", made in {source}" if source is not None else "")
        since = len(self.b.steps)
        try:
            values = self._converted(node)
        except NoRule as error:
            raise refusal(node, f"{error}.") from None
        values = [values] if isinstance(values, str) else list(values)
        for i, value in enumerate(values):
            entry = Entry(node, i)
            if any(value in step.outputs for step in self.b.steps[since:]):
                value = self.b.rename(value, node.name if i == 0 else f"{node.name}_{i}", since)
                self.b.infos.append((value, self.dtype(entry), self._dims(entry)))
            self.values[entry] = value
        if len(self.b.steps) > since:
            self.b.steps[-1].name = self.b.fresh_step(node.name)

    def _dims(self, entry: Entry) -> list[Any]:
        return list(self.shape(entry))

    def _call(self, node: Node) -> Call:
        missing = [e.node.name for e in node.inputs if e not in self.values]
        count = node.op.num_outputs(node.statics, len(node.inputs))
        outputs = [Entry(node, i) for i in range(count)]
        inputs = [self.values.get(e, "") for e in node.inputs]
        if missing and not node.op.labels:
            raise ShapeError(
                f"Variable {missing[0]!r} of node {node.name!r} is neither an input of the model nor a "
                f"parameter. Give its shape in in_shapes, or its array in params."
            )
        return Call(
            node,
            tuple(inputs),
            tuple(self.shape(e) for e in node.inputs),
            tuple(self.dtype(e) for e in node.inputs),
            tuple(self.shape(e) for e in outputs),
            tuple(self.dtype(e) for e in outputs),
            node.op.keywords(node.statics, node.scalars),
        )

    def _converted(self, node: Node) -> Any:
        call = self._call(node)
        if node.op.name in REASONS:
            raise refusal(node, REASONS[node.op.name])
        conversion = CONVERSIONS.get(node.op.name)
        since = len(self.b.steps)
        if conversion is not None:
            try:
                return conversion(self.b, call)
            except NotHere:
                del self.b.steps[since:]
        return self._by_primitives(node, call)

    def _by_primitives(self, node: Node, call: Call) -> Any:
        """The nodes for the primitives of the operator's function."""
        if draws(node):
            raise refusal(node, "it draws random numbers in a way that ONNX does not.")
        sizes: dict[str, str] = {}
        shapes: list[Any] = list(call.shapes)
        if self.open is not None:
            shapes = [self.open.shapes[e] for e in node.inputs]
            sizes = self._sizes(shapes)
        try:
            closed, _ = traced(as_function(node), list(zip(shapes, call.dtypes, strict=True)))
        except Exception as error:
            if self.open is None:
                raise
            raise refusal(
                node,
                f"its shapes cannot be dynamic ({str(error).splitlines()[0]}). Export it with "
                f"fixed shapes.",
            ) from None
        count = node.op.num_visible(node.statics, len(node.inputs))
        return Lowering(self.b, sizes).run(closed, call.inputs)[:count]

    def _sizes(self, shapes: Sequence[Any]) -> dict[str, str]:
        """Values of all symbolic dimensions."""
        assert self.open is not None
        names = {
            name
            for shape in shapes
            for extent in shape
            if not isinstance(extent, int)
            for name in extent._get_vars()
        }
        sizes = {}
        for name in names:
            entry, axis = self.open.origins[name]
            sizes[name] = self.b.extent(self.values[entry], axis)
        return sizes


def to_model(
    graph: Graph,
    inputs: Sequence[Input],
    params: Mapping[str, np.ndarray],
    names: Sequence[str],
    opset: int,
    largest: int = LARGEST,
) -> tuple[Any, Builder]:
    """The ``ModelProto`` of a graph, and its builder, which has the arrays that do not fit into it.

    Args:
        graph: with operators in prediction mode.
        inputs: variables that remain inputs.
        params: arrays of the other variables.
        names: names of the outputs.
        opset: ONNX's operator set.
        largest: bytes of constants and parameters that the model holds.

    Raises:
        MXNetError: an operator has no equivalent in ONNX; names it, its node and the user's line.
    """
    onnx = onnx_package()
    builder = Builder(opset)
    read = {node.name for node in read_in_prediction(graph)}
    walk = Walk(graph, [each for each in inputs if each.name in read], params, builder)
    heads = walk.run()
    used = {name for name, _, _ in builder.inputs} | set(builder.constants)
    builder.doc = ""
    for name, value, entry in zip(names, heads, graph.heads, strict=True):
        if value in used or value != name:
            builder.scope = name
            value = builder.rename(builder.Identity(value), name, len(builder.steps) - 1)
        used.add(value)
        dims = [d if d is not None else f"{value}_axis{i}" for i, d in enumerate(walk.shape(entry))]
        builder.outputs.append((value, walk.dtype(entry), dims))
    outputs = {name for name, _, _ in builder.outputs}
    builder.infos = [each for each in builder.infos if each[0] not in outputs]
    use_unsigned(builder)
    _drop_unread(builder)
    proto = onnx.helper.make_model(
        builder.graph("mixnet", outside=outside(builder.constants, largest)),
        opset_imports=[onnx.helper.make_opsetid("", opset)],
        producer_name="mixnet",
        producer_version=__version__,
        ir_version=_ir_version(opset),
    )
    return proto, builder


def _ir_version(opset: int) -> int:
    """The oldest format version that supports an operator set, which the most runtimes can read."""
    helper = onnx_package().helper
    least: int = helper.find_min_ir_version_for([helper.make_opsetid("", opset)])
    return max(7, least)


def _drop_unread(builder: Builder) -> None:
    """Remove unused nodes and constants, also in bodies of loops and branches."""
    read = {name for name, _, _ in builder.outputs}
    steps = []
    for step in reversed(builder.steps):
        if not read.isdisjoint(step.outputs):
            steps.append(step)
            for each in step.attributes.values():
                if isinstance(each, Builder):  # first, since what it does not use need not be here
                    _drop_unread(each)
            read.update(values_read(step))
    builder.steps = steps[::-1]
    builder.constants = {n: a for n, a in builder.constants.items() if n in read}
    produced = {name for step in builder.steps for name in step.outputs}
    builder.infos = [each for each in builder.infos if each[0] in produced]
