"""Values that could not be computed: their error, and the previous value of their holder."""

from __future__ import annotations

import weakref
from collections.abc import Iterable

from mixnet.base import MXNetError
from mixnet.engine.current import current
from mixnet.engine.engine import is_reported
from mixnet.engine.variable import Var
from mixnet.runtime.value.value import Value


class Failed:
    """Replaces the segment of a value that could not be computed.

    Args:
        error: the reason.
        value: the failed value; its segment is this object from now on.
        before: the previous value of its holder, if known: a failed update loses nothing, because the
            holder gets its previous value back once the error has been reported.
    """

    __slots__ = ("before", "value", "var")
    finished = True

    def __init__(self, error: BaseException, value: Value, before: Value | None):
        self.var = Var("failed")
        self.var.error = error
        self.value = weakref.ref(value)
        self.before = before
        value.segment = self

    def finish(self, reason: str, wait: bool = True) -> None:
        """Restore the previous value if the error has been reported; otherwise raise it, if ``wait``."""
        value, before = self.value(), self.before
        if is_reported(self.var.error) and before is not None and before.array is not None:
            if value is not None:
                value.var, value.array = before.var, before.array
                value.segment = None
        elif wait:
            current.engine.wait_for_var(self.var)

    def alias(self, value: Value) -> Value:
        """Create another value that failed for the same reason."""
        other = Value(value.spec, None)
        assert self.var.error is not None
        Failed(self.var.error, other, self.before)
        return other

    def replaces(self, pairs: Iterable[tuple[Value, Value]]) -> None:
        """Record the previous values of holders, as pairs of a value and the previous one."""
        for _, old in pairs:
            if self.before is None:
                self.before = old


def restored(value: Value) -> bool:
    """Whether a failed value has its previous array again, because the error was reported."""
    if isinstance(value.segment, Failed):
        value.segment.finish("what was before", wait=False)
    return value.array is not None


def error_of(value: Value) -> BaseException:
    """Why a value has no array."""
    segment = value.segment
    error = segment.var.error if segment is not None else None
    return error or MXNetError("The value of an input was lost.")
