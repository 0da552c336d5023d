"""The gradient of an operator as rows of a row_sparse array."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from mixnet.ops.operator import Arrays, Operator, Statics
from mixnet.ops.parameters import Parametrized


def stored_rows(*arrays: Any) -> Any:
    """Numbers of the rows that are not all 0 in every array, a number beyond the last row for the others.

    If all are 0, row 0 counts as stored.
    """
    count = arrays[0].shape[0]
    rows = jnp.arange(count, dtype=jnp.int64)
    if count == 0:
        return rows
    axes = tuple(range(1, arrays[0].ndim))
    stored = jnp.any(jnp.stack([jnp.any(each != 0, axis=axes) for each in arrays]), axis=0)
    return jnp.where(stored, rows, jnp.where(jnp.any(stored), count, 0))


class RowGradient(Operator):
    """The operator of a row_sparse gradient: head and inputs in, numbers of rows and rows out.

    Args:
        forward: the operator.
        array: name of the array whose gradient it is.
        rule: see :meth:`mixnet.ops.op.Op.set_row_gradient`.
        has_zero_rows: whether some of the rows are there although the gradient is 0.
    """

    variadic = "head and inputs"
    forward: Parametrized

    def __init__(
        self,
        forward: Parametrized,
        array: str,
        rule: Callable[..., Any],
        has_zero_rows: bool = False,
    ):
        super().__init__()
        self.has_zero_rows = has_zero_rows
        self.forward, self.rule = forward, rule
        self.position = forward.arrays.index(array)
        self.names = tuple(inspect.signature(rule).parameters)
        self.name = f"_rows_of_{forward.name}"

    def num_outputs(self, statics: Statics, num_inputs: int = 0) -> int:
        """Numbers of rows, and rows."""
        return 2

    def keywords(self, statics: Statics, scalars: Arrays = ()) -> dict[str, Any]:
        """The forward operator's attributes."""
        return self.forward.keywords(statics, scalars)

    def apply(self, statics: Statics, arrays: Arrays, scalars: Arrays = ()) -> tuple[Any, ...]:
        """Numbers of rows, one for each row of the second result."""
        head, *inputs = arrays
        known = {
            **self.keywords(statics, scalars),
            **dict(zip(self.forward.arrays, inputs, strict=False)),
        }
        rows, values = self.rule(head, **{name: known[name] for name in self.names[1:]})
        return rows.reshape(-1).astype(jnp.int64), values

    def __repr__(self) -> str:
        return f"<row_sparse gradient of {self.forward!r}>"
