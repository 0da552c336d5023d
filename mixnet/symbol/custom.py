"""``mx.sym.Custom``: call an operator registered with ``mx.operator`` on symbols."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from mixnet.base import OperatorTypeError
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.name import current as current_names
from mixnet.ops.control.custom import explained, keep_errors, registrations, runner_of
from mixnet.ops.registry import find
from mixnet.passes.infer_shape import infer
from mixnet.runtime.value.value import Spec
from mixnet.symbol.compose import compose
from mixnet.symbol.symbol import Symbol, Variable

_instances = itertools.count(1)


def Custom(*data: Symbol, op_type: str = "", name: str | None = None, **kwargs: Any) -> Symbol:
    """Compose an operator written in Python; arguments left out become variables.

    Args:
        data: its arguments in order, then its auxiliary states; or by name.
        op_type: name it was registered under.
        name: name of the node.
        kwargs: its parameters, which reach it as strings.

    Raises:
        MXNetError: nothing is registered under that name, or it has no such argument.
    """
    named = {k: kwargs.pop(k) for k in list(kwargs) if isinstance(kwargs[k], Symbol)}
    parameters = tuple(sorted((k, str(v)) for k, v in kwargs.items()))
    name = current_names().get(name, "custom")
    inputs = list(data)
    runner = runner_of(op_type, parameters)
    names = [*runner.arguments, *runner.states]
    if len(data) > len(names) or not named.keys() <= {*names[len(data) :]}:
        raise OperatorTypeError(
            f"Custom: {op_type} takes {', '.join(names)}; {len(data)} symbols were given by position"
            + (f", and {', '.join(named)} by name." if named else ".")
        )
    for each in names[len(data) :]:
        inputs.append(
            named[each] if each in named else _own_variable(name, each, op_type, parameters)
        )
    attributes = {
        "op_type": op_type,
        "parameters": parameters,
        "instance": next(_instances),
        "registration": registrations[op_type],
    }
    composed = compose(find("Custom"), "custom", inputs, attributes, name)
    # A file has the parameters as attributes of the node, as MXNet writes them.
    attrs = composed._heads[0].node.attrs
    for each in ("parameters", "instance", "registration", "num_args_"):
        attrs.pop(each, None)
    attrs.update(parameters)
    return composed


def _own_variable(
    name: str, parameter: str, op_type: str, parameters: tuple[tuple[str, str], ...]
) -> Symbol:
    """The variable of an argument left out: it has all that its node has, as MXNet has it."""
    variable = Variable(f"{name}_{parameter}")
    variable._heads[0].node.attrs.update({"op_type": op_type, **dict(parameters)})
    return variable


def calls_own_operators(graph: Graph) -> bool:
    """Whether some node calls an operator written in Python."""
    custom = find("Custom")
    return any(node.op is custom for node in graph.nodes)


class OwnOperators:
    """Operators in Python of one executor: each node's object is its own, in training and prediction."""

    def __init__(self) -> None:
        self._numbers: defaultdict[str, int] = defaultdict(lambda: next(_instances))

    def in_graph(self, graph: Graph) -> Graph:
        """The graph with these operators instead of those that it shares with other executors."""
        custom = find("Custom")

        def change(node: Node, inputs: tuple[Entry, ...]) -> Node:
            if node.op is not custom:
                return node.replaced(inputs)
            op_type = custom.keywords(node.statics)["op_type"]
            statics = custom.rebind(
                node.statics,
                instance=self._numbers[node.name],
                registration=registrations[op_type],
            )
            changed = Node(custom, statics, node.scalars, inputs, node.name, node.attrs)
            return changed.made_from(node)

        if not calls_own_operators(graph):
            return graph
        return graph.rebuild(change)

    def create(self, graph: Graph, specs: Mapping[str, Spec]) -> None:
        """Create these operators now, as binding does in MXNet.

        Args:
            graph: the result of ``in_graph``.
            specs: shapes and dtypes of its variables, by name.

        Raises:
            MXNetError: ``create_operator`` raised.
        """
        custom = find("Custom")
        shapes = {name: each.shape for name, each in specs.items()}
        inferred = infer(graph, shapes, {name: each.dtype for name, each in specs.items()})
        for node in graph.nodes:
            if node.op is not custom:
                continue
            values = custom.keywords(node.statics)
            op_type, runner = values["op_type"], runner_of(values["op_type"], values["parameters"])
            inputs = node.inputs[: len(runner.arguments) + len(runner.states)]
            known = [inferred.shapes[each] for each in inputs if inferred.shapes.get(each)]
            kinds = [inferred.dtypes[each] for each in inputs if each in inferred.dtypes]
            if len(known) < len(inputs) or len(kinds) < len(inputs):
                continue  # known when it runs
            if any(min(shape) < 1 for shape in known):
                continue
            try:
                with keep_errors(op_type):
                    runner.create(values["instance"], known, kinds)
            except Exception as error:
                raise explained(error) from error.__cause__ or error
