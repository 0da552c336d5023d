"""Random graphs for the tests of passes, with their inputs."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ops import find
from mixnet.passes.assign_keys import key_variable
from mixnet.passes.differentiate import differentiate
from mixnet.runtime.compile.lower import lower

SHAPE = (2, 3, 4)
# -0 and a subnormal number: adding 0 or multiplying by 1 can change them
ARRAYS = [
    np.linspace(-1, 1, 24, dtype=np.float32).reshape(SHAPE),
    np.where(np.arange(24) % 5, np.arange(24) / 7, -0.0).astype(np.float32).reshape(SHAPE),
]

_UNARY = [
    ("_copy", {}),
    ("tanh", {}),
    ("BlockGrad", {}),
    ("Cast", {"dtype": "float32"}),
    ("Cast", {"dtype": "float64"}),
    ("Dropout", {"p": 0.0}),
    ("Dropout", {"p": 0.5}),
    ("_mul_scalar", {"scalar": 1.0}),
    ("_minus_scalar", {"scalar": 0.0}),
    ("_plus_scalar", {"scalar": 0.0}),
    ("_div_scalar", {"scalar": 1.0}),
    ("add_n", {}),
    ("zeros_like", {}),
    ("shuffle_axes", {}),
    ("back_and_forth", {}),
]


def apply(name: str, *inputs: Entry, **attributes: object) -> Entry:
    """One operation in prediction mode."""
    op = find(name)
    statics, scalars = op.bind(attributes)
    return Entry(Node(op, statics, scalars, inputs, name))


def _unary(name: str, attributes: dict, x: Entry, key: Entry) -> Entry:
    if name == "shuffle_axes":  # in all the original shape again
        for axes in ((2, 0, 1), (1, 2, 0), (), (2, 1, 0)):
            x = apply("transpose", x, axes=axes)
        return apply("SwapAxis", apply("SwapAxis", x, dim1=0, dim2=2), dim1=2, dim2=0)
    if name == "back_and_forth":
        flat = apply("Flatten", apply("expand_dims", x, axis=1))
        return apply("Reshape", apply("Reshape", flat, shape=(4, -1)), shape=SHAPE)
    if name == "Dropout":
        node = apply(name, x, key, **attributes).node
        return Entry(Node(node.op, node.statics, (*node.scalars, 0.0), node.inputs, name))
    return apply(name, x, **attributes)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Random graphs of two float32 variables of ``SHAPE``, and a key."""
    variables = [Node(None, name=f"x{i}") for i in range(2)]
    key = key_variable(1)
    entries = [Entry(v) for v in variables]
    constants = [apply("_ones", shape=SHAPE), apply("_full", shape=SHAPE, value=-0.5)]
    for _ in range(draw(st.integers(1, 12))):
        source = draw(st.sampled_from(entries))
        if draw(st.integers(0, 3)):
            name, attributes = draw(st.sampled_from(_UNARY))
            entries.append(_unary(name, attributes, source, Entry(key)))
        else:
            other = draw(st.sampled_from([*entries, *constants]))
            both = [apply("Cast", each, dtype="float32") for each in (source, other)]
            name = draw(st.sampled_from(["elemwise_add", "elemwise_mul", "elemwise_sub"]))
            entries.append(apply(name, *both))
    heads = tuple(draw(st.lists(st.sampled_from(entries), min_size=1, max_size=3)))
    return Graph(heads, (*variables, key))


def values(graph: Graph) -> list[np.ndarray]:
    """Values of the heads, each operation run on its own."""
    with jax.enable_x64(True):
        key = jnp.zeros(3, jnp.uint32)
        return [np.asarray(each) for each in lower(graph)([*map(jnp.asarray, ARRAYS), key])]


def gradients(graph: Graph) -> list[np.ndarray]:
    """Gradients of the sum of all heads, by the gradient pass."""
    starts = [Node(None, name="start") for _ in graph.heads]
    variables = [Entry(node) for node in graph.inputs[:2]]
    result = differentiate(graph.heads, [Entry(node) for node in starts], variables)
    zeros = [
        entry or Entry(Node(find("zeros_like"), (), (), (variable,)))
        for entry, variable in zip(result, variables, strict=True)
    ]
    backward = Graph(tuple(zeros), (*graph.inputs, *starts))
    with jax.enable_x64(True):
        inputs = [*map(jnp.asarray, ARRAYS), jnp.zeros(3, jnp.uint32)]
        inputs += [jnp.ones(each.shape, each.dtype) for each in values(graph)]
        return [np.asarray(each) for each in lower(backward)(inputs)]


def same_bits(first: list[np.ndarray], second: list[np.ndarray]) -> None:
    """Raise unless shapes, dtypes and all bits are the same."""
    for one, other in zip(first, second, strict=True):
        assert (one.shape, one.dtype, one.tobytes()) == (other.shape, other.dtype, other.tobytes())
