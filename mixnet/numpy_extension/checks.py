"""``npx.constraint_check``: raise an error if a condition does not hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mixnet.ndarray.ndarray import NDArray
from mixnet.numpy.call import call
from mixnet.runtime.value.state import is_tracing

if TYPE_CHECKING:
    from mixnet.numpy.call import Operable


def constraint_check(input: Operable, msg: str = "Constraint violated.", **kwargs: object) -> Any:
    """True where every element of a boolean array is true; the answer is read at once.

    Args:
        input: booleans of any shape.
        msg: text of the error.
        kwargs: have no effect.

    Raises:
        ValueError: an element is false; for a graph, it is raised where its results are read.
    """
    holds = call("_npx_constraint_check", input, msg=msg)
    if isinstance(holds, NDArray) and not is_tracing():
        holds.wait_to_read()
    return holds
