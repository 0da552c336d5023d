"""Lowering: the operator of a node after a pass has chosen its implementation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.experimental.xla_metadata import set_xla_metadata

from mixnet.ops.operator import Operator, Statics


class Lowering(Operator):
    """One way to compute an operator, or one of its gradients.

    It has no gradient of its own: lowerings are chosen after a graph has been differentiated.
    Its statics are pairs of a keyword and its value.

    Args:
        name: shown in graphs and programs.
        function: pure; arrays positional, attributes keyword-only.
    """

    variadic = "inputs"
    function: Callable[..., Any]

    def __init__(self, name: str, function: Callable[..., Any]):
        super().__init__()
        self.name = name
        self.function = function

    def num_outputs(self, statics: Statics = (), num_inputs: int = 0) -> int:
        """As many as the function returns; known only to whoever placed the node."""
        return 1

    def keywords(self, statics: Statics, scalars: Sequence[Any] = ()) -> dict[str, Any]:
        """The keyword arguments of the function."""
        return dict(statics)

    def apply(self, statics: Statics, arrays: Sequence[Any], scalars: Sequence[Any] = ()) -> tuple:
        """What the function returns, as a tuple."""
        result = self.function(*arrays, **dict(statics))
        return tuple(result) if isinstance(result, (tuple, list)) else (result,)

    def __repr__(self) -> str:
        return f"<lowering {self.name!r}>"


def apart(function: Callable[..., Any], *arrays: jax.Array) -> Any:
    """``function(*arrays)`` as a call that XLA does not inline.

    XLA fuses nothing across such a call: what it is given lies in memory once. (Barriers of
    ``lax.optimization_barrier`` are gone before XLA's CPU backend fuses.)
    """
    with set_xla_metadata(inlineable="false"):
        return jax.jit(function)(*arrays)
