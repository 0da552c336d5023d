"""Operators whose output size depends on values: the values are read to determine the size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mixnet.base import TraceError
from mixnet.runtime.record.copy import to_host
from mixnet.runtime.record.record import record
from mixnet.runtime.value.call import explained
from mixnet.runtime.value.state import is_tracing
from mixnet.runtime.value.value import Value

if TYPE_CHECKING:
    from mixnet.ops.operator import Operator, Statics


class UnknownSizeError(TraceError):
    """A size depends on values, which are not available while a graph is traced."""


class _Readable:
    """A value that a size rule may read."""

    def __init__(self, value: Value):
        self._value = value
        self.ndim = len(value.spec.shape)

    def asnumpy(self) -> np.ndarray:
        return to_host(self._value, "shape that depends on values")


def measured_size(op: Operator, statics: Statics, values: Sequence[Value]) -> int:
    """The number of elements of the result; waits for the values that determine it.

    Args:
        op: an operator with a size rule, see ``Op.set_size``.
        statics: its bound attributes.
        values: its inputs.

    Raises:
        UnknownSizeError: a graph is being traced, so there are no values.
    """
    if is_tracing():
        raise UnknownSizeError(
            f"{op.name}: the shape of the result depends on values, which a graph that is being "
            f"traced does not have. Compute it outside the hybridized block, or use an "
            f"operator whose shape is known, such as where()."
        )
    assert op.measure is not None
    arrays = map(_Readable, values)
    try:
        by_name = dict(zip(op.argument_names(statics), arrays, strict=False))
        return op.measure(by_name, op.keywords(statics))
    except Exception as error:
        problem = explained(op, statics, tuple([each.spec for each in values]), error)
        raise problem from problem.__cause__


def record_measured(
    op: Operator, statics: Statics, scalars: tuple[float, ...], values: Sequence[Value]
) -> list[Value]:
    """Determine the size from the values, then record the operator with a known shape."""
    size = measured_size(op, statics, values)
    return record(op, op.rebind(statics, size=size), scalars, tuple(values))
