"""A function of JAX arrays as a graph: an operator for each equation of its jaxpr."""

from __future__ import annotations

import inspect
import math
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from mixnet.array_like import has_dtype
from mixnet.base import AttributeTypeError
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ops.operator import Operator
from mixnet.passes.facts import Known
from mixnet.private_jax.calls import called
from mixnet.private_jax.equation import Equation
from mixnet.private_jax.equations import line_of
from mixnet.private_jax.jaxprs import ClosedJaxpr, Jaxpr, Literal
from mixnet.process.source import Source, code_of, function_name, is_users
from mixnet.stages.graph_data import specs_of
from mixnet.widgets.graph.rows import Pictured, rows_of

if TYPE_CHECKING:
    from mixnet.ops.operator import Statics

_JAX = os.path.dirname(jax.__file__) + os.sep
_MOVES = frozenset(
    {
        "broadcast_in_dim",
        "bitcast_convert_type",
        "concatenate",
        "convert_element_type",
        "copy",
        "dynamic_slice",
        "dynamic_update_slice",
        "expand_dims",
        "gather",
        "iota",
        "pad",
        "reshape",
        "rev",
        "select_n",
        "slice",
        "split",
        "squeeze",
        "stop_gradient",
        "transpose",
    }
)
"""Primitives that move elements and compute none."""


class Primitive(Operator):
    """One equation of a jaxpr as an operator: literals and parameters are a part of it."""

    def __init__(self, equation: Any, jaxpr: Jaxpr):
        super().__init__()
        self.name = str(equation.primitive.name)
        self.equation = equation
        self._program = jaxpr.replace(constvars=[], outvars=equation.outvars, eqns=[equation])
        self._specs = [_spec(each.aval) for each in equation.outvars]

    def output_specs(self, statics: Statics, inputs: object) -> list[Known]:
        """Shape and dtype of every output, as JAX inferred them."""
        return list(self._specs)

    def apply(self, statics: Statics, arrays: Any, scalars: Any = ()) -> tuple[Any, ...]:
        """The results of the equation."""
        names = [each for each in self.equation.invars if not isinstance(each, Literal)]
        # An equation may read one array twice.
        values = {
            each: jax.random.wrap_key_data(array) if _is_key(each.aval) else array
            for each, array in zip(names, arrays, strict=True)
        }
        program = self._program.replace(invars=list(values))
        results = jax.core.eval_jaxpr(program, (), *values.values())
        return tuple(_plain(each) for each in results)

    def num_outputs(self, statics: Statics, num_inputs: int = 0) -> int:
        """How many arrays it makes."""
        return len(self._specs)


class Constant(Operator):
    """A constant of a program."""

    name = "constant"

    def __init__(self, value: np.ndarray):
        super().__init__()
        self._value = value

    def apply(self, statics: Statics, arrays: object, scalars: object = ()) -> tuple[Any, ...]:
        """The value."""
        return (jax.numpy.asarray(self._value),)


def pictured(
    function: Callable[..., Any], inputs: Sequence[Any], named: Mapping[str, Any]
) -> tuple[Pictured, dict[str, np.ndarray]]:
    """The rows of a function called with these arrays (any trees of them), and the arrays by name.

    Raises:
        AttributeTypeError: JAX cannot trace it with these arguments.
    """
    title = function_name(function)
    try:
        closed = jax.make_jaxpr(function)(*inputs, **named)
    except TypeError as error:
        raise AttributeTypeError(
            f"look: {title} is taken as a function of JAX arrays, and JAX cannot trace it with "
            "these arguments: "
            f"{str(error).rstrip('.')}. For a function of NDArrays, pass NDArrays."
        ) from error
    leaves = jax.tree_util.tree_flatten_with_path((tuple(inputs), dict(named)))[0]
    names = _names([path for path, _ in leaves], function)
    reading = _Reading()
    variables = [Node(None, name=name) for name in names]
    constants = [Node(None, name=f"constant {i}") for i in range(len(closed.consts))]
    heads = reading.run(closed, [Entry(node) for node in (*constants, *variables)], "")
    graph = Graph(tuple(heads), (*constants, *variables))
    arrays = [np.asarray(_plain(each)) for each in (*closed.consts, *(leaf for _, leaf in leaves))]
    known: list[Known] = [
        _spec(each.aval) for each in (*closed.jaxpr.constvars, *closed.jaxpr.invars)
    ]
    rows = rows_of(graph, specs_of(graph, known), title, "function")
    rows.graph, rows.inputs = graph, known
    by_name = {graph.names[node]: node for node in graph.nodes}
    for row in rows.rows:
        node = by_name[row["name"]]
        if isinstance(node.op, Primitive):
            row["attributes"] = _attributes(node.op.equation)
            row["flops"] = _flops(node.op.equation)
    values = {node.name: each for node, each in zip(graph.inputs, arrays, strict=True)}
    return rows, values


def _is_programs(file: str) -> bool:
    """Whether a file is the user's, not JAX's."""
    return is_users(file) and not file.startswith(_JAX)


class _Reading:
    """Equations to nodes; a program that is only called gives way to its equations, in a block
    of its name.
    """

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()

    def run(self, closed: ClosedJaxpr, arguments: Sequence[Entry], inside: str) -> list[Entry]:
        """The outputs of a program on these entries."""
        jaxpr = closed.jaxpr
        known: dict[Any, Entry] = dict(
            zip((*jaxpr.constvars, *jaxpr.invars), arguments, strict=True)
        )
        for equation in jaxpr.eqns:
            entries = [known[each] for each in equation.invars if not isinstance(each, Literal)]
            program = called(equation)
            if program is not None and len(entries) == len(equation.invars):
                constants = [self._constant(each) for each in program.consts]
                name = equation.params.get("name")  # of a function under jax.jit
                block = inside if name is None else f"{self._fresh(f'{inside}{name}')}/"
                results = self.run(program, [*constants, *entries], block)
            else:
                node = self._node(equation, jaxpr, entries, inside)
                results = [Entry(node, i) for i in range(len(equation.outvars))]
            known.update(zip(equation.outvars, results, strict=True))
        return [
            known[each] if not isinstance(each, Literal) else self._constant(each.val)
            for each in jaxpr.outvars
        ]

    def _node(self, equation: Any, jaxpr: Jaxpr, inputs: Sequence[Entry], inside: str) -> Node:
        name = self._fresh(f"{inside}{equation.primitive.name}")
        node = Node(Primitive(equation, jaxpr), (), (), tuple(inputs), name)
        place = line_of(equation, _is_programs)
        if place is not None:
            node.source = Source(*place)
        return node

    def _constant(self, value: object) -> Entry:
        return Entry(Node(Constant(np.asarray(value)), name=self._fresh("constant")))

    def _fresh(self, name: str) -> str:
        self._count[name] += 1
        return f"{name}{self._count[name] - 1}"


def _names(paths: Sequence[Any], function: Callable[..., Any]) -> list[str]:
    """Names of arguments: that of the parameter, and the way into its tree: ``params.w1``."""
    code = code_of(inspect.unwrap(function))
    parameters = () if code is None else code.co_varnames[: code.co_argcount]
    names: list[str] = []
    for group, place, *rest in paths:
        if group.idx == 0 and place.idx < len(parameters):
            parts = [parameters[place.idx]]
        else:
            parts = [str(getattr(place, "key", None) or f"argument{place.idx}")]
        parts += [
            str(getattr(each, "key", getattr(each, "idx", getattr(each, "name", ""))))
            for each in rest
        ]
        names.append(".".join(parts))
    return names


def _is_key(value: object) -> bool:
    """Whether it is a key of jax.random, which has no dtype of NumPy's."""
    return has_dtype(value) and bool(jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key))


def _plain(array: Any) -> Any:
    """An array as it is, a key as its numbers."""
    return jax.random.key_data(array) if _is_key(array) else array


def _spec(aval: Any) -> Known:
    if _is_key(aval):
        return (*aval.shape, 2), np.dtype("uint32")
    return tuple(aval.shape), np.dtype(aval.dtype)


def _attributes(equation: Any) -> dict[str, str]:
    attributes = {
        key: str(value)[:80]
        for key, value in equation.params.items()
        if value is not None
        and value != ()
        and not isinstance(value, (Jaxpr, ClosedJaxpr))
        and "jaxpr" not in key
    }
    for place, each in enumerate(equation.invars):
        if isinstance(each, Literal):
            attributes[f"input {place}"] = str(each.val)
    return attributes


def _flops(equation: Equation) -> int:
    """Floating point operations of an equation; a multiplication and an addition are two."""
    name, params = equation.primitive.name, equation.params
    out = sum(math.prod(each.aval.shape) for each in equation.outvars)
    if name in _MOVES:
        return 0
    if name == "dot_general":
        (contracted, _), _ = params["dimension_numbers"]
        shape = equation.invars[0].aval.shape
        sums: int = math.prod(shape[axis] for axis in contracted)
        return 2 * out * sums
    if name == "conv_general_dilated":
        kernel = equation.invars[1].aval.shape
        filters: int = kernel[params["dimension_numbers"].rhs_spec[0]]
        return 2 * out * math.prod(kernel) // filters
    if name == "scan":
        return int(params["length"]) * sum(map(_flops, params["jaxpr"].jaxpr.eqns))
    if name.startswith(("reduce_", "arg")):
        return math.prod(equation.invars[0].aval.shape)
    return out
