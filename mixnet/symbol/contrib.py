"""``mx.sym.contrib``: loops and branches over symbols, and the contributed operators."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from mixnet.attribute import AttrScope, node_attributes
from mixnet.base import AttributeKindError, AttributeValueError, CheckError, ShapeError
from mixnet.graph.draws import calls_watched, note_call
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node, topological
from mixnet.graph.subgraph import SubGraph
from mixnet.name import current as current_names
from mixnet.ops.registry import find
from mixnet.ops.schema.attributes import to_text
from mixnet.process.nesting import Nesting, flattened, nested
from mixnet.process.subroutine import checked_function, checked_pair, checked_while_loop
from mixnet.symbol.namespace import below
from mixnet.symbol.operators import apply
from mixnet.symbol.symbol import Symbol, output_name
from mixnet.symbol.update import adamw_update as adamw_update
from mixnet.symbol.update import mp_adamw_update as mp_adamw_update

__getattr__, __dir__ = below("contrib").hooks(globals())

_MARK = "__subgraph_name__"


BODY = "return (outputs, new states)"
STEP = "return (step output, new loop variables)"


def _flat(symbols: object, role: str) -> tuple[list[Symbol], Nesting]:
    """Single outputs of nested lists, and how to nest others the same way; ``role`` they are,
    for an error.
    """

    def leaves(value: object) -> tuple[list[Symbol], Nesting]:
        if isinstance(value, Symbol):
            return list(value), None if len(value) == 1 else [(1, None)] * len(value)
        raise AttributeKindError(
            f"{role} is a symbol or a list of symbols, not a {type(value).__name__}. mx.sym.var makes "
            f"variables."
        )

    return flattened(symbols, leaves)


Variables = Callable[[Sequence[Symbol]], list[Symbol]]


class _Body:
    """The subgraph that a function composes; it is called with what makes variables of the loop's.

    All else that it reads comes from outside, variables that it makes itself too: ``captured``
    holds their entries by the name of the variable.
    """

    def __init__(self, name: str, function: Callable[[Variables], Any]):
        self.mark = current_names().get(None, name)
        self._own_variables: set[Node] = set()
        with AttrScope(**{_MARK: self.mark}), calls_watched() as called:
            outputs = [
                each if self._is_own(each) else apply("identity", each)
                for each in function(self._variables)
            ]
        self._stand_ins: dict[Entry, Node] = {}
        self._moved: dict[Node, Node] = {}
        entries = [entry for each in outputs for entry in each._heads]
        for node in topological(entry.node for entry in entries):
            self._move(node)
        self.heads = tuple(self._at(entry) for entry in entries)
        whole = Graph(self.heads)
        self.inputs = tuple(node for node in whole.nodes if node.is_variable)
        self._check_names()
        outside = {node: entry for entry, node in self._stand_ins.items()}
        self.captured: dict[str, Entry] = {
            node.name: outside.get(node) or Entry(node)
            for node in self.inputs
            if node not in self._own_variables
        }
        self.subgraph = SubGraph(Graph(self.heads, self.inputs), called)

    def _variables(self, symbols: Sequence[Symbol]) -> list[Symbol]:
        """Variables of the body in place of ``symbols``, numbered as outputs, where they are distinct."""
        names: dict[str, None] = {}  # a dict keeps their order
        for each in symbols:
            number = each._entry().index
            while f"{each.name}-{number}" in names:
                number += 1
            names[f"{each.name}-{number}"] = None
        nodes = [Node(None, name=name, attrs=node_attributes()) for name in names]
        self._own_variables.update(nodes)
        return [Symbol([Entry(node)]) for node in nodes]

    def _check_names(self) -> None:
        names: set[str] = set()
        for node in self.inputs:
            if node.name in names:
                raise CheckError(
                    f"{self.mark}: the inputs of the subgraph have no unique names; several variables "
                    f"are named {node.name!r}. Make the variable once and use it everywhere, or give "
                    f"each a name of its own."
                )
            names.add(node.name)

    def _is_own(self, symbol: Symbol) -> bool:
        node = symbol._heads[0].node
        return node.op is not None and node.attrs.get(_MARK) == self.mark

    def _move(self, node: Node) -> None:
        if node.is_variable:
            self._moved[node] = node
        elif node.attrs.get(_MARK) == self.mark:
            self._moved[node] = node.replaced(tuple(self._at(entry) for entry in node.inputs))

    def _at(self, entry: Entry) -> Entry:
        if entry.node in self._moved:
            return Entry(self._moved[entry.node], entry.index)
        if entry not in self._stand_ins:  # computed outside: read as a variable
            self._stand_ins[entry] = Node(None, name=output_name(entry))
        return Entry(self._stand_ins[entry])

    def places(self, names: Sequence[str]) -> list[int]:
        """Where variables stand among the inputs, -1 for one that is not read."""
        order = [node.name for node in self.inputs]
        return [order.index(name) if name in order else -1 for name in names]


def _node(
    kind: str, bodies: Sequence[_Body], inputs: Sequence[Entry], attributes: dict[str, Any]
) -> Symbol:
    op = find(kind)
    all_attributes = {**attributes, "subgraphs": tuple(body.subgraph for body in bodies)}
    statics, scalars = op.bind(all_attributes)
    # In the order of MXNet's keywords, which determines the order in which attributes are listed.
    attrs = {**{key: to_text(each) for key, each in attributes.items()}, **node_attributes()}
    attrs["num_args"] = str(len(inputs) + len(bodies))
    name = current_names().get(None, kind)
    node = Node(op, statics, scalars, tuple(inputs), name, attrs)
    note_call(node)
    return Symbol([Entry(node, i) for i in range(attributes["num_outputs"])])


def foreach(
    body: Callable[..., Any], data: object, init_states: object, name: str = "foreach"
) -> tuple[Any, Any]:
    """Run ``body(slice, states)`` on every slice of ``data`` along the first axis.

    Args:
        body: returns ``(outputs, new states)``, symbols or nested lists of them.
        data: a symbol or nested lists of symbols.
        init_states: a symbol or nested lists of symbols.
        name: prefix of the subgraph's name.

    Returns:
        The outputs stacked along a new first axis, and the last states.
    """
    slices, data_shape = _flat(data, "foreach: data")
    states, state_shape = _flat(init_states, "foreach: init_states")
    checked_function("foreach", "body", body, "def body(slice, states)")
    names: list[str] = []
    shapes: list[Any] = []

    def compose(variables: Variables) -> list[Symbol]:
        arguments = variables([*slices, *states])
        names.extend(str(each.name) for each in arguments)
        returned = body(
            nested(arguments[: len(slices)], data_shape),
            nested(arguments[len(slices) :], state_shape),
        )
        out, new = checked_pair("foreach", "body", returned, BODY)
        outputs, out_shape = _flat(out, "foreach: an output of body")
        after, after_shape = _flat(new, "foreach: a state that body returns")
        if len(after) != len(states):
            raise CheckError(
                f"foreach: the body returned {len(after)} states, but was given {len(states)}."
            )
        if after_shape != state_shape:
            raise CheckError(
                "foreach: the body returned its states in another form than it was given them; a symbol "
                "stays a symbol, and a list a list."
            )
        shapes.extend((len(outputs), out_shape))
        return [*outputs, *after]

    loop_body = _Body(name, compose)
    split, out_shape = shapes
    _check_read(loop_body, names, [each.name for each in (*slices, *states)])
    rest = list(loop_body.captured)
    attributes = {
        "num_outputs": len(loop_body.heads),
        "num_out_data": split,
        "in_state_locs": loop_body.places(names[len(slices) :]),
        "in_data_locs": loop_body.places(names[: len(slices)]),
        "remain_locs": loop_body.places(rest),
    }
    inputs = [each._entry() for each in (*slices, *states)]
    inputs += [loop_body.captured[each] for each in rest]
    results = list(_node("_foreach", [loop_body], inputs, attributes))
    return nested(results[:split], out_shape), nested(results[split:], state_shape)


def _check_read(body: _Body, names: Sequence[str], required: Sequence[Any]) -> None:
    """Raise CheckError unless the body reads all slices and states."""
    for name, place in zip(required, body.places(names), strict=True):
        if place < 0:
            raise CheckError(
                f"foreach: the body does not read {name!r}; leave it out of data and init_states, or "
                f"return the state as it is."
            )


def while_loop(
    cond: Callable[..., Any],
    func: Callable[..., Any],
    loop_vars: object,
    max_iterations: int | None = None,
    name: str = "while_loop",
) -> tuple[Any, Any]:
    """Run ``func(*loop_vars)`` while ``cond(*loop_vars)`` holds.

    Args:
        cond: returns a symbol of one element.
        func: returns ``(step output, new loop variables)``.
        loop_vars: a symbol or a list.
        max_iterations: the most steps.
        name: prefix of the subgraphs' names.

    Returns:
        The step outputs stacked to ``max_iterations`` rows, those after the last step 0, and the
        last loop variables.

    Raises:
        ValueError: no ``max_iterations``, or no loop variables.
    """
    variables, shape = _flat(loop_vars, "while_loop: loop_vars")
    turns = checked_while_loop(cond, func, max_iterations)
    if not variables:
        raise AttributeValueError(
            "while_loop: loop_vars is empty; give a symbol or a list of symbols."
        )
    names: list[str] = []
    shapes: list[Any] = []

    def own(make: Variables) -> Any:
        loop_parts = make(variables)
        names[:] = [str(each.name) for each in loop_parts]
        return loop_parts if shape is None else nested(loop_parts, shape)

    def test(make: Variables) -> list[Symbol]:
        return [_condition(cond(*own(make)))]

    def step(make: Variables) -> list[Symbol]:
        out, new = checked_pair("while_loop", "func", func(*own(make)), STEP)
        outputs, out_shape = _flat([] if out is None else out, "while_loop: a step output")
        after, _ = _flat(new, "while_loop: a new loop variable")
        if len(after) != len(variables):
            raise ShapeError(
                f"while_loop: func returned {len(after)} loop variables, but there are "
                f"{len(variables)}."
            )
        shapes.extend((len(outputs), out_shape))
        return [*outputs, *after]

    condition = _Body(f"{name}_cond", test)
    loop = _Body(f"{name}_func", step)
    split, out_shape = shapes
    _check_variables_read(variables, loop.places(names))
    entries = dict(zip(names, (each._entry() for each in variables), strict=True))
    entries |= condition.captured | loop.captured
    # As the bodies name them: list_arguments() of the loop is in this order.
    order = list(dict.fromkeys(node.name for node in (*condition.inputs, *loop.inputs)))
    inputs = [entries[each] for each in order]
    attributes = {
        "max_iterations": turns,
        "cond_input_locs": [order.index(node.name) for node in condition.inputs],
        "func_input_locs": [order.index(node.name) for node in loop.inputs],
        "func_var_locs": loop.places(names),
        "num_out_data": split,
        "num_outputs": split + len(variables),
    }
    results = list(_node("_while_loop", [condition, loop], inputs, attributes))
    return nested(results[:split], out_shape), nested(results[split:], shape)


def _condition(holds: object) -> Symbol:
    if not isinstance(holds, Symbol):
        raise AttributeKindError(
            f"while_loop: cond must return a symbol, not {type(holds).__name__}."
        )
    return holds


def _check_variables_read(variables: Sequence[Symbol], places: Sequence[int]) -> None:
    for each, place in zip(variables, places, strict=True):
        if place < 0:
            raise AttributeValueError(
                f"while_loop: func does not read the loop variable {each.name!r}; leave it out of "
                f"loop_vars, or return it as it is."
            )


def cond(
    pred: Symbol,
    then_func: Callable[[], Any],
    else_func: Callable[[], Any],
    name: str = "cond",
) -> Any:
    """``then_func()`` where ``pred`` is not 0, else ``else_func()``.

    Args:
        pred: a symbol of one element.
        then_func: returns symbols or nested lists of them.
        else_func: returns as many, of the same shapes and dtypes.
        name: prefix of the subgraphs' names.
    """
    if not isinstance(pred, Symbol):
        raise AttributeKindError(
            f"cond: pred must be a symbol, not {type(pred).__name__}. mx.sym.var makes variables."
        )
    shapes: list[Any] = []

    def branch(function: Callable[[], Any]) -> Callable[[Variables], list[Symbol]]:
        def compose(_: Variables) -> list[Symbol]:
            leaves, shape = _flat(function(), "cond: what a branch returns")
            shapes.append((len(leaves), shape))
            return leaves

        return compose

    checked_function("cond", "then_func", then_func, "lambda: x + 1")
    checked_function("cond", "else_func", else_func, "lambda: x - 1")
    condition = _flat(pred, "cond: pred")[0]
    test = _Body(f"{name}_pred", lambda _: condition)
    yes = _Body(f"{name}_then", branch(then_func))
    no = _Body(f"{name}_else", branch(else_func))
    if shapes[0][0] != shapes[1][0]:
        raise ShapeError(f"cond: the branches return {shapes[0][0]} and {shapes[1][0]} symbols.")
    order = list({**test.captured, **yes.captured, **no.captured})
    captured = {**no.captured, **yes.captured, **test.captured}  # of one name, the first

    def places(body: _Body) -> list[int]:
        return [order.index(node.name) for node in body.inputs]

    attributes = {
        "cond_input_locs": places(test),
        "then_input_locs": places(yes),
        "else_input_locs": places(no),
        "num_outputs": shapes[0][0],
    }
    results = _node("_cond", [test, yes, no], [captured[each] for each in order], attributes)
    return nested(list(results), shapes[0][1])


def isnan(data: Symbol) -> Symbol:
    """1 where not a number, else 0.

    Args:
        data: a symbol of any shape; the result has its shape and dtype.
    """
    return data != data  # type: ignore[return-value]


def isinf(data: Symbol) -> Symbol:
    """1 where infinite, else 0.

    Args:
        data: a symbol of any shape; the result has its shape and dtype.
    """
    return apply("abs", data) == math.inf  # type: ignore[return-value,comparison-overlap]


def isfinite(data: Symbol) -> Symbol:
    """1 where neither infinite nor NaN, else 0.

    Args:
        data: a symbol of any shape; the result has its shape and dtype.
    """
    return (apply("abs", data) != math.inf) * (data == data)  # type: ignore[return-value,comparison-overlap]


def rand_zipfian(
    true_classes: Symbol, num_sampled: int, range_max: int
) -> tuple[Symbol, Symbol, Symbol]:
    """Classes drawn with probability log((c + 2) / (c + 1)) / log(range_max + 1).

    Args:
        true_classes: class numbers.
        num_sampled: how many to draw.
        range_max: number of classes.

    Returns:
        The drawn classes, int64; how often each true class and each drawn one is expected among
        them, float64.
    """
    top = math.log(range_max + 1)
    uniform = apply("_random_uniform", low=0.0, high=top, shape=(num_sampled,), dtype="float64")
    drawn = apply("cast", apply("exp", uniform) - 1, dtype="int64") % range_max

    def expected(classes: Symbol) -> Symbol:
        at = apply("cast", classes, dtype="float64")
        return apply("log", (at + 2.0) / (at + 1.0)) / top * num_sampled

    return drawn, expected(true_classes), expected(drawn)
