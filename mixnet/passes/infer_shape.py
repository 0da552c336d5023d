"""Shape and dtype inference, forward from the inputs and backward to parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from mixnet.base import DTypeError, MXNetError, RankError, ShapeError, checked_shape
from mixnet.dtype import BY_CODE, as_dtype
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node, made_in
from mixnet.graph.subgraph import SubGraph
from mixnet.ops.op import Op
from mixnet.ops.operator import Operator, Statics, is_own
from mixnet.ops.reason import reason
from mixnet.ops.schema.attributes import numbers
from mixnet.ops.schema.rewrites import ask
from mixnet.ops.schema.shape_constraints import CallShapes, Shape, merged
from mixnet.ops.schema.stream import STREAM_SPEC
from mixnet.ops.tracing.shape_free import common_shape, form_of
from mixnet.ops.tracing.traced import MOST_TRACES, traced
from mixnet.passes.infer_dtype import infer_node_dtypes
from mixnet.passes.try_shapes import forward_from, input_of, only_extents
from mixnet.util import is_np_shape

ONE_SHAPE = "__one_shape__"
"""The attribute of variables that accept only their declared shape."""


def is_known(shape: Shape | None) -> bool:
    """Whether a shape is complete; 0 and -1 mean unknown extents."""
    return shape is not None and all(extent > 0 for extent in shape)


def has_open_rank(node: Node) -> bool:
    """Whether a node without inputs leaves its shape to those that read it: ``()`` without NumPy's shapes."""
    if node.op.shaped_by is None or node.op.arrays or is_np_shape():
        return False
    return not node.op.keywords(node.statics)[node.op.shaped_by]


def _of_element(body: SubGraph, shape: Shape) -> Shape:
    """The shape of an element of an array along its first axis, as a loop body gets it."""
    return shape[1:] if len(shape) != 1 or body.has_scalars else (1,)


Question = Literal["shapes", "dtypes", "both"]


class Inference:
    """Shapes and dtypes inferred so far; ``run`` infers the rest.

    Args:
        graph: the graph.
        shapes: shapes of variables by name; 0 or -1 for an unknown extent.
        dtypes: dtypes of variables by name.
        default_dtype: the dtype of variables for which none is inferred; None leaves them open.
        zero_is_known: whether 0 is an extent, as with NumPy shapes, so that only -1 is unknown.
        question: what is requested. For ``shapes``, a custom operator's ``infer_type`` is not called; for
            ``dtypes``, it is called even if no dtype is known.
    """

    def __init__(
        self,
        graph: Graph,
        shapes: Mapping[str, Any],
        dtypes: Mapping[str, np.dtype] | None = None,
        default_dtype: np.dtype | None = None,
        zero_is_known: bool = False,
        question: Question = "both",
    ):
        self.graph = graph
        self._question = question
        self._least = 0 if zero_is_known else 1  # the least extent that is known
        self._unknown = -1 if zero_is_known else 0
        self.shapes: dict[Entry, Any] = {}
        self.dtypes: dict[Entry, np.dtype] = {}
        self.default_dtype = default_dtype
        self._changes = 0  # the number of improvements of shapes
        self._looks_further = False  # whether a constraint reads shapes of other calls
        for node in graph.nodes:
            if node.is_variable:
                entry = Entry(node)
                shape = shapes.get(node.name)
                if shape is not None:
                    self.shapes[entry] = self._with_unknown(node.name, shape)
                if "__shape__" in node.attrs and self._unknown in self.shapes.get(
                    entry, (self._unknown,)
                ):
                    shape = [each if each > 0 else self._unknown for each in _declared_shape(node)]
                    self.shapes[entry] = self._with_unknown(node.name, shape)
                if ONE_SHAPE in node.attrs:
                    check_one_shape(node, self.shapes[entry], self._least)
                dtype = (dtypes or {}).get(node.name)
                if dtype is None and "__dtype__" in node.attrs:
                    dtype = _declared(node)
                if dtype is not None:
                    self.dtypes[entry] = dtype

    def _with_unknown(self, name: str, shape: Any) -> Shape:
        """A shape of a variable that has the usual number for unknown extents: 0 and -1 mean the same."""
        extents = checked_shape(f"Variable {name!r}", shape)
        if extents and min(extents) < -1:
            raise ShapeError(
                f"Variable {name!r}: {extents} is not a shape; give whole numbers from 1 on, and "
                f"{self._unknown} for an extent that is not known."
            )
        return tuple([self._unknown if extent < self._least else extent for extent in extents])

    def run(self) -> Inference:
        """Infer until nothing new follows.

        Raises:
            ShapeError: shapes contradict each other; names the node.
        """
        waiting = [node for node in self.graph.nodes if not node.is_variable]
        while True:
            before = self._known()
            for node in waiting:
                self._node(node)
            if before == self._known():
                return self
            waiting = [node for node in waiting if not self._is_settled(node)]
            if not waiting:
                return self

    def _is_settled(self, node: Node) -> bool:
        """Whether everything about a node is known."""
        entries = (*node.inputs, Entry(node))
        return all(is_known(self.shapes.get(e)) and e in self.dtypes for e in entries)

    def _known(self) -> tuple[int, int]:
        return len(self.dtypes), self._changes

    def _is_known(self, shape: Shape | None) -> bool:
        return shape is not None and (not shape or min(shape) >= self._least)

    def _node(self, node: Node) -> None:
        try:
            self._infer_node(node)
        except MXNetError:
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise ShapeError(
                f"Node {node.name!r} ({node.op.name}) does not take inputs of these shapes "
                f"({self._shapes_of_inputs(node)}): {str(error).rstrip('.')}.{made_in(node)}"
            ) from None

    def _shapes_of_inputs(self, node: Node) -> str:
        shapes = {entry.node.name: self.shapes.get(entry, "unknown") for entry in node.inputs}
        return ", ".join(f"{name}: {shape}" for name, shape in shapes.items())

    def _infer_node(self, node: Node) -> None:
        """Infer at one node; equal calls on fully known inputs are evaluated once."""
        call = self._complete_call(node)
        if call is None:
            self._infer_open(node)
            return
        results = _results.get(call)
        if results is None:
            if self._infer_from_inputs(node):
                self._remember(node, call)
            return
        for i, (shape, dtype) in enumerate(results):
            entry = Entry(node, i)
            if self.shapes.get(entry) != shape:
                self._set(entry, shape, node)
            self.dtypes[entry] = dtype

    def _infer_open(self, node: Node) -> None:
        """Infer at one node with unknown shapes; cached for equal calls with equal knowledge."""
        entries = [*node.inputs, *self._outputs_of(node)]
        call = self._open_call(node, entries)
        if call is None:
            self._infer_call(node)
            return
        known = _follows.get(call)
        if known is None:
            if self._infer_from_inputs(node):
                if len(_follows) >= MOST_TRACES:
                    _follows.clear()
                _follows[call] = [(self.shapes.get(e), self.dtypes.get(e)) for e in entries]
            return
        for entry, (shape, dtype) in zip(entries, known, strict=True):
            if shape is not None and self.shapes.get(entry) != shape:
                self._set(entry, shape, node)
            if dtype is not None:
                self.dtypes[entry] = dtype

    def _open_call(self, node: Node, entries: Sequence[Entry]) -> Any:
        """The key that determines shapes and dtypes of a node's inputs and outputs, if there is one."""
        if not self._depends_on_call(node.op):
            return None
        known = [(self.shapes.get(entry), self.dtypes.get(entry)) for entry in entries]
        same = [entries.index(entry) for entry in node.inputs]
        of_all = self._least, self._question, self.default_dtype
        return node.op, node.statics, len(node.scalars), of_all, tuple(known), tuple(same)

    def _outputs_of(self, node: Node) -> list[Entry]:
        count = node.op.num_outputs(node.statics, len(node.inputs))
        return [Entry(node, i) for i in range(count)]

    def _depends_on_call(self, op: Operator) -> bool:
        """Whether shapes and dtypes follow from a call alone; a user's code may return others each time."""
        plain = isinstance(op, Op) and op.bodies is None and op.measure is None
        return plain and not op.calls_python

    def _complete_call(self, node: Node) -> Any:
        """The key that determines the outputs of a node whose inputs are known; None if some are not."""
        op = node.op
        if not self._depends_on_call(op):
            return None
        shapes, dtypes = self.shapes, self.dtypes
        specs = []
        for entry in node.inputs:
            shape, dtype = shapes.get(entry), dtypes.get(entry)
            if dtype is None or not self._is_known(shape):
                return None
            specs.append((shape, dtype))
        return op, node.statics, len(node.scalars), self._least, tuple(specs)

    def _remember(self, node: Node, call: object) -> None:
        results = []
        for entry in self._outputs_of(node):
            shape, dtype = self.shapes.get(entry), self.dtypes.get(entry)
            if dtype is None or not self._is_known(shape):
                return
            results.append((shape, dtype))
        if len(_results) >= MOST_TRACES:
            _results.clear()
        _results[call] = results

    def _infer_from_inputs(self, node: Node) -> bool:
        """Infer at one node; returns whether only its own inputs and outputs were used."""
        self._looks_further = False
        self._infer_call(node)
        return not self._looks_further

    def _infer_call(self, node: Node) -> None:
        names = self._argument_names(node)
        input_shapes = {
            n: s
            for n, e in zip(names, node.inputs, strict=False)
            if (s := self.shapes.get(e)) is not None
        }
        try:
            shapes_at = self._tried(
                input_shapes, lambda shapes: node.op.infer_input_shapes(node.statics, shapes)
            )
        except Exception as error:
            raise self._refused(node, error) from None
        for name, entry in zip(names, node.inputs, strict=False):
            if name in shapes_at:
                self._set(entry, tuple(shapes_at[name]), node)
        # After the shapes: infer_type of a custom operator may read what its infer_shape kept.
        if not self._leaves_dtypes_open(node):
            infer_node_dtypes(node, names, self.dtypes, only_dtypes=self._question == "dtypes")
        shape = self._attribute(node)
        if shape is not None:
            self._set(Entry(node), shape, node)
        self._infer_inputs(node)
        if isinstance(node.op, Op) and node.op.awaits_values(node.statics):
            self._values_awaited(node)
            return
        if self._depends_on_call(node.op):
            self._only_extents(node)
        if self._least and has_open_rank(node):
            (_, dtype), *_ = self._outputs(node)
            if dtype is not None:
                self.dtypes[Entry(node)] = dtype
            return
        if all(self._is_known(self.shapes.get(e)) for e in node.inputs):
            self._forward(node)
        elif all(self.shapes.get(e) is not None for e in node.inputs):
            self._forward_open(node)

    def _attribute(self, node: Node) -> Shape | None:
        """The shape of the output, if an attribute determines it."""
        if node.op.shaped_by is None:
            return None
        shape = node.op.keywords(node.statics)[node.op.shaped_by]
        return tuple(shape) if shape and min(shape) > 0 else None

    def _tried(
        self, shapes: dict[Any, Any], function: Callable[[dict[Any, Any]], Mapping[Any, Any]]
    ) -> dict[Any, Any]:
        """Shapes that follow from partly known ones, with 0 for extents that depend on unknown ones.

        An extent is independent of an unknown one if it is the same for two trial values of the latter.

        Raises:
            RankError: a number of axes does not fit, whatever the unknown extents are.
        """
        if all(map(self._is_known, shapes.values())):
            return dict(function(shapes))
        rank_errors: list[RankError] = []

        def noting(tried: dict[Any, Any]) -> Mapping[Any, Any]:
            try:
                return function(tried)
            except RankError as error:
                rank_errors.append(error)
                raise

        completed = forward_from(noting, shapes, self._least)
        if completed is None and rank_errors:
            raise rank_errors[0]
        if completed is None:  # nothing follows without the unknown shapes
            complete = {k: v for k, v in shapes.items() if self._is_known(v)}
            return dict(function(complete)) if len(complete) < len(shapes) else {}
        return {
            key: tuple(extent if extent >= 0 else self._unknown for extent in shape)
            for key, shape in completed.items()
        }

    def _infer_inputs(self, node: Node) -> None:
        """Infer shapes of inputs from the shape of an output."""
        if node.op.bodies is not None:
            self._into_bodies(node)
        elif node.op.shape_constraint is not None:
            call = _Call(self, node)
            ask(node.op.shape_constraint, node.op.keywords(node.statics), [call])
        elif len(node.inputs) == 1 and not node.op.takes_key:
            self._inverted(node)

    def _inverted(self, node: Node) -> None:
        """Infer a node's only input from outputs that are better known."""
        (entry,) = node.inputs
        known = self.shapes.get(entry)
        count = node.op.num_outputs(node.statics, 1)
        output_shapes = [self.shapes.get(Entry(node, place)) for place in range(count)]
        if self._is_known(known) or all(shape is None for shape in output_shapes):
            return
        shape = input_of(
            lambda tried: [one for one, _ in self._outputs_at(node, [tried])],
            known,
            output_shapes,
            self._least,
        )
        if shape is not None:
            self._set(entry, tuple(max(extent, self._unknown) for extent in shape), node)

    def _into_bodies(self, node: Node) -> None:
        """Infer the inputs of a loop or branch from those of its bodies."""
        assert node.op.bodies is not None
        for body, places in node.op.bodies(**node.op.keywords(node.statics)):
            known: dict[str, Any] = {}
            for variable, place in zip(body.graph.inputs, places, strict=True):
                shape = self.shapes.get(node.inputs[place.number])
                if shape is not None:
                    known[variable.name] = _of_element(body, shape) if place.sliced else shape
            if all(map(self._is_known, known.values())) and len(known) == len(body.graph.inputs):
                continue
            inner = Inference(
                body.graph, known, None, self.default_dtype, zero_is_known=not self._least
            )
            shapes = inner.run().shapes
            for variable, place in zip(body.graph.inputs, places, strict=True):
                shape = shapes.get(Entry(variable))
                outer = self.shapes.get(node.inputs[place.number])
                if shape is None or (place.sliced and outer and _of_element(body, outer) == shape):
                    continue  # nothing new
                stacked = (self._unknown, *shape) if place.sliced else shape
                self._set(node.inputs[place.number], stacked, node)

    def _same(self, node: Node, entries: list[Entry]) -> None:
        joined: Shape | None = None
        for entry in entries:
            shape = self.shapes.get(entry)
            both = merged(joined, shape, self._least)
            if both is None and shape is not None and joined is not None:
                if self._is_known(shape) and self._is_known(joined):
                    return  # the operator's own message about its inputs is better
                self._set(entry, joined, node)  # raises
            joined = both
        for entry in entries:
            if joined is not None and not self._is_known(self.shapes.get(entry)):
                self._set(entry, joined, node)

    def _argument_names(self, node: Node) -> tuple[str, ...]:
        if node.op.variadic:
            return node.op.argument_names(node.statics) if isinstance(node.op, Op) else ()
        names = node.op.argument_names(node.statics)
        return names if len(names) == len(node.inputs) else node.op.arrays

    def _set(self, entry: Entry, shape: Shape, node: Node) -> None:
        before = self.shapes.get(entry)
        now = merged(before, shape, self._least)
        if now is None:
            raise ShapeError(
                f"Node {node.name!r} ({node.op.name}): its input {entry.node.name!r} has shape "
                f"{before}, but {shape} follows from the other inputs. Give it that shape, or "
                f"change the attributes of {node.name!r}.{made_in(node)}"
            )
        if now != before:
            self.shapes[entry] = now
            self._changes += 1

    def _refused(self, node: Node, error: Exception) -> ShapeError:
        """The error for inputs that a node's operator failed on."""
        because = reason(
            node.op, node.statics, [self.shapes.get(e) for e in node.inputs], error
        ).rstrip(".")
        kind = type(error) if isinstance(error, ShapeError) else ShapeError
        return kind(
            f"Node {node.name!r} ({node.op.name}) does not take inputs of these shapes "
            f"({self._shapes_of_inputs(node)}){f': {because}' if because else ''}.{made_in(node)}"
        )

    def _forward(self, node: Node) -> None:
        for i, (shape, dtype) in enumerate(self._outputs(node)):
            self._set(Entry(node, i), shape, node)
            self._set_dtype(node, i, dtype)

    def _set_dtype(self, node: Node, index: int, dtype: np.dtype | None) -> None:
        """Record the dtype of an output, unless it was computed from assumed dtypes."""
        if dtype is not None and all(e in self.dtypes for e in node.inputs):
            self.dtypes[Entry(node, index)] = dtype

    def _leaves_dtypes_open(self, node: Node) -> bool:
        """Whether a node's operator has its own inference of dtypes and only shapes are needed."""
        return self._question == "shapes" and node.op.infers_dtypes

    def _assumed_dtype(self, node: Node, entry: Entry) -> np.dtype | None:
        """The dtype of an input, or the default one if none was inferred."""
        if self._leaves_dtypes_open(node):
            return None
        return self.dtypes.get(entry) or self.default_dtype or np.dtype(node.op.dtypes.usual)

    def _outputs(self, node: Node) -> list[tuple[Shape, np.dtype | None]]:
        """Shapes and dtypes of the outputs of a node whose inputs' shapes are known."""
        try:
            return self._outputs_at(node, [tuple(self.shapes[e]) for e in node.inputs])
        except Exception as error:
            raise self._refused(node, error) from (
                error if is_own(node.op) and not isinstance(error, MXNetError) else None
            )

    def _values_awaited(self, node: Node) -> None:
        """Infer dtypes of a result whose shape depends on values; check known shapes."""
        if node.op.measure is None:
            return  # its dtypes have been inferred by its own rule
        if all(self._is_known(self.shapes.get(e)) for e in node.inputs):
            statics = node.op.rebind(node.statics, size=1)
            tried = Node(node.op, statics, node.scalars, node.inputs, node.name)
            for i, (_, dtype) in enumerate(self._outputs(tried)):
                self._set_dtype(node, i, dtype)

    def _only_extents(self, node: Node) -> None:
        """Infer the extents of partly known inputs that alone fit the other inputs and the outputs."""
        shapes = {i: s for i, e in enumerate(node.inputs) if (s := self.shapes.get(e)) is not None}
        if len(shapes) < len(node.inputs) or all(map(self._is_known, shapes.values())):
            return
        targets = [self.shapes.get(entry) for entry in self._outputs_of(node)]

        def checked(tried: dict[Any, Any]) -> bool:
            outputs = self._outputs_at(node, [tried[i] for i in range(len(node.inputs))])
            for (shape, _), target in zip(outputs, targets, strict=False):
                if target is not None and merged(shape, target, self._least) is None:
                    raise ShapeError(f"The result is {shape} in place of {target}.")
            return True

        for i, shape in only_extents(checked, shapes, targets, self._least).items():
            self._set(node.inputs[i], shape, node)

    def _forward_open(self, node: Node) -> None:
        """Infer outputs from inputs with some unknown extents."""
        count = node.op.num_outputs(node.statics, len(node.inputs))
        if all(self._is_known(self.shapes.get(Entry(node, i))) for i in range(count)):
            return

        def outputs(shapes: dict[Any, Any]) -> dict[int, Any]:
            inferred = self._outputs_at(node, [shapes[i] for i in range(len(node.inputs))])
            return {i: shape for i, (shape, _) in enumerate(inferred)}

        try:
            tried = self._tried({i: self.shapes[e] for i, e in enumerate(node.inputs)}, outputs)
        except KeyError:
            return  # not without the unknown shapes
        except RankError as error:
            raise self._refused(node, error) from None
        for i, shape in tried.items():
            self._set(Entry(node, i), shape, node)

    def _outputs_at(self, node: Node, shapes: list[Any]) -> list[tuple[Shape, np.dtype | None]]:
        """Shapes and dtypes of a node's outputs if its inputs had these shapes."""
        dtypes = [self._assumed_dtype(node, e) for e in node.inputs]
        try:
            return self._evaluated(node, shapes, dtypes)
        except DTypeError:
            if self._question != "shapes":
                raise
        # Shapes do not depend on dtypes: where only they are asked for, as in MXNet, binding refuses these.
        usual = [np.dtype(node.op.dtypes.usual)] * len(dtypes)
        return [(shape, None) for shape, _ in self._evaluated(node, shapes, usual)]

    def _evaluated(
        self, node: Node, shapes: Sequence[Any], dtypes: Sequence[np.dtype | None]
    ) -> list[tuple[Shape, np.dtype | None]]:
        specs: list[Any] = [*zip(shapes, dtypes, strict=True)]
        if node.op.takes_key:
            specs.append(STREAM_SPEC)
        numbers = len(node.scalars) + node.op.takes_key
        return [*evaluate(node.op, node.statics, tuple(specs), numbers)]


class _Call(CallShapes):
    """The shapes around a node, for the constraint of its operator."""

    def __init__(self, inference: Inference, node: Node):
        super().__init__(len(node.inputs), inference._least)
        self._inference, self._node = inference, node

    def input(self, place: int) -> Shape | None:
        return self._shape(self._node.inputs[place])

    def output(self, place: int = 0) -> Shape | None:
        return self._shape(Entry(self._node, place))

    def source(self, place: int) -> Shape | None:
        return self._shape(self._source(place))

    def set_input(self, place: int, shape: Sequence[int]) -> None:
        self._inference._set(self._node.inputs[place], tuple(shape), self._node)

    def set_output(self, place: int, shape: Sequence[int]) -> None:
        self._inference._set(Entry(self._node, place), tuple(shape), self._node)

    def set_source(self, place: int, shape: Sequence[int]) -> None:
        self._inference._set(self._source(place), tuple(shape), self._node)

    def same(self, inputs: Iterable[int], outputs: Iterable[int] = ()) -> None:
        entries = [self._node.inputs[place] for place in inputs]
        entries += [Entry(self._node, place) for place in outputs]
        self._inference._same(self._node, entries)

    def try_input(self) -> None:
        self._inference._inverted(self._node)

    def _shape(self, entry: Entry) -> Shape | None:
        return self._inference.shapes.get(entry)

    def _source(self, place: int) -> Entry:
        self._inference._looks_further = True
        entry = self._node.inputs[place]
        return entry.node.inputs[0] if entry.node.inputs else entry


_known: dict[Any, list[tuple[Shape, np.dtype]]] = {}
_results: dict[Any, list[tuple[Any, Any]]] = {}  # a call on fully known inputs -> its outputs
_follows: dict[Any, list[tuple[Any, Any]]] = {}  # any other call -> its inputs and outputs


def evaluate(
    op: Operator, statics: Statics, inputs: Any, scalars: int
) -> list[tuple[Shape, np.dtype]]:
    """Output shapes and dtypes, by the operator's rule or by abstract evaluation; cached."""
    if op.output_specs is not None:
        return list(op.output_specs(statics, inputs))
    key = (op, statics, inputs, scalars)
    known = _known.get(key)
    if known is None:
        form = form_of(op, statics, inputs, scalars)
        if form is not None:
            known = form.outputs(common_shape(inputs) or ())
        else:
            avals = traced(op, statics, inputs, scalars).out_avals
            known = [(tuple(each.shape), np.dtype(each.dtype)) for each in avals]
        if len(_known) >= MOST_TRACES:
            _known.clear()
        _known[key] = known
    return known


def evaluate_node(node: Node, inputs: Sequence[tuple[Shape, np.dtype]]) -> Any:
    """Output shapes and dtypes of a node, even if it has no stream of random numbers yet."""
    scalars = len(node.scalars)
    if node.op.takes_key and not node.op.has_stream(node.statics, node.scalars):
        inputs, scalars = (*inputs, STREAM_SPEC), scalars + 1
    return evaluate(node.op, node.statics, tuple(inputs), scalars)


def _declared_shape(node: Node) -> Shape:
    """The shape in the attributes of a variable, which may come from a file.

    Raises:
        ShapeError: it is not a shape.
    """
    text = node.attrs["__shape__"]
    try:
        shape = numbers(text)
        if any(type(each) is not int or not -1 <= each < 1 << 63 for each in shape):
            raise ValueError
    except (ValueError, AttributeError, TypeError):
        raise ShapeError(
            f"Variable {node.name!r}: its attribute __shape__={text!r:.80} is not a shape, such as "
            f"(2, 3), with 0 or -1 for an extent that is not known."
        ) from None
    return shape


def variables_of_one_shape(graph: Graph) -> dict[str, Node]:
    """The variables that accept only their declared shape, by name."""
    return {n.name: n for n in graph.nodes if n.is_variable and ONE_SHAPE in n.attrs}


def check_one_shape(node: Node, shape: Shape, least: int = 1) -> None:
    """Check the shape of a variable that accepts only its declared one.

    Raises:
        ShapeError: the shape is another one.
    """
    declared = _declared_shape(node) if "__shape__" in node.attrs else shape
    if merged(shape, declared, least) is None:
        raise ShapeError(
            f"Variable {node.name!r} has shape {shape}; the symbol was made for {declared} alone. "
            f"{node.attrs[ONE_SHAPE]}"
        )


_DTYPE_CODES = {*map(str, BY_CODE)}


def _declared(node: Node) -> np.dtype:
    text = node.attrs["__dtype__"]
    try:
        return BY_CODE[int(text)] if text in _DTYPE_CODES else as_dtype(text)
    except DTypeError as error:
        raise DTypeError(f"Variable {node.name!r}: its attribute __dtype__: {error}") from None


def infer(
    graph: Graph,
    shapes: Mapping[str, Any],
    dtypes: Mapping[str, np.dtype] | None = None,
    default_dtype: np.dtype | None = None,
    zero_is_known: bool = False,
    question: Question = "both",
) -> Inference:
    """Infer shapes and dtypes of a graph from those of some variables; see :class:`Inference`."""
    return Inference(graph, shapes, dtypes, default_dtype, zero_is_known, question).run()
