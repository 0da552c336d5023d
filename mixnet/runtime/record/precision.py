"""The current precision: casts of the inputs of operators called imperatively."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mixnet.ops.registry import find
from mixnet.passes.lower_precision import WIDEST, Precision
from mixnet.runtime.record.record import record
from mixnet.runtime.value.value import Value

if TYPE_CHECKING:
    from mixnet.ops.operator import Operator, Statics


class Current:
    """Holds the current precision; None: operators use their inputs' dtypes."""

    def __init__(self) -> None:
        self.rule: Precision | None = None


current = Current()
_listeners: list[Callable[[], None]] = []


def on_change(listener: Callable[[], None]) -> Callable[[], None]:
    """Register a listener for caches that depend on the precision."""
    _listeners.append(listener)
    return listener


def use(rule: Precision | None) -> None:
    """Use a precision from now on, in all threads."""
    current.rule = rule
    for listener in _listeners:
        listener()


@contextmanager
def using(rule: Precision | None) -> Iterator[None]:
    """Scope in which a precision is used, in all threads."""
    before = current.rule
    use(rule)
    try:
        yield
    finally:
        use(before)


def fitted(op: Operator, statics: Statics, values: tuple[Value, ...]) -> tuple[Value, ...]:
    """The inputs of an operator, cast to the required dtypes; casts are recorded."""
    rule = current.rule
    kind = None if rule is None else rule.kind(op, statics)
    if rule is None or kind is None or (kind == WIDEST and len(values) < 2):
        return values
    dtypes = [value.spec.dtype for value in values]
    target = rule.target(kind, dtypes)
    if kind == WIDEST and rule.dtype not in dtypes:
        return values
    cast = find("amp_cast")
    form, _ = cast.bind({"dtype": target.name})
    return tuple(
        record(cast, form, (), (value,))[0] if rule.is_cast(dtype, target) else value
        for value, dtype in zip(values, dtypes, strict=True)
    )
