"""The entry of a value on the tape that this thread records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from mixnet.graph.node import Entry, Node
from mixnet.runtime.value.state import state
from mixnet.runtime.value.value import Value

Result = TypeVar("Result")


def tape_entry(value: Value) -> Entry | None:
    """Where a value is on the tape that this thread records; None for a constant."""
    variables = state.variables
    node = variables.get(value) if variables else None
    if node is not None:
        return Entry(node)
    return None if value.node is None else Entry(value.node, value.index)


def with_variables(variables: Mapping[Value, Node], work: Callable[[], Result]) -> Result:
    """Call ``work``, for which these values are variables of the tape.

    They are variables for this thread alone: executors of several threads may share an argument, and each
    has an array of its own for the gradient.
    """
    before, state.variables = state.variables, variables
    try:
        return work()
    finally:
        state.variables = before
