"""``mx.nd.random``: arrays of random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mixnet.ndarray.distributions import Face, functions
from mixnet.ndarray.invoke import Results, check_face, invoke_any, make_function
from mixnet.ndarray.ndarray import NDArray
from mixnet.ops.registry import find


def _call(op: str, arrays: Sequence[NDArray], attributes: dict[str, Any]) -> Results:
    attributes.pop("name", None)  # names are a symbol's
    check_face(find(op), arrays, numpys=False)
    return invoke_any(find(op), arrays, attributes, attributes.pop("out", None))


_functions = functions(
    Face(
        NDArray,
        _call,
        extra=("ctx", "out"),
        shape=(1,),
        get_prob=False,
        like=lambda op, name: make_function(find(op), name),
    )
)

for _name, _function in _functions.items():
    # where pickle looks for it
    _function.__module__, _function.__qualname__ = __name__, _name
globals().update(_functions)
__all__ = sorted(_functions)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
