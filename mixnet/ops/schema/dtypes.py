"""Dtypes of an operator's arrays that differ from the common dtype of the others; casts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

if TYPE_CHECKING:
    from jax.typing import DTypeLike

FLOAT32 = np.dtype("float32")
Known = np.dtype | None
NONE_AS_DTYPE = "float64"
"""What ``dtype=None`` means to functions of ``mx.nd`` and ``mx.sym``, as to NumPy."""


@dataclass(frozen=True, eq=False)
class Dtypes:
    """What dtype inference has to know of an operator; most take and give one dtype.

    Args:
        own: the dtype of arrays that do not share the others', by name; None where any will do. A function
            of the number of inputs gives them by place, for variadic operators.
        statistics: arrays, all but the first, that are float32 beside data of half precision and else have
            the data's dtype.
        free: arrays that have the others' dtype unless theirs is known.
        shared: the attribute with the dtype that the arrays share where none of them is known.
        result: the dtype of the first output, where it is neither the shared one nor the attribute ``dtype``;
            or a function of the attributes that gives it, None for the shared one.
        of_shared: what gives the dtype of the first output from the shared one, where both are not the same;
            the first output then says nothing of the inputs.
        others_too: whether ``of_shared`` gives the dtype of the outputs behind the first, too.
        others: the dtype of the outputs behind the first, where it is not the shared one; or such a function.
        usual: the dtype that shape inference assumes where none is known.
        accepts: the dtypes that arrays may have, by name; they are refused in any other. A function of the
            number of inputs gives them by place, for variadic operators.
    """

    own: Mapping[str, str | None] | Callable[[int], Mapping[int, str | None]] = field(
        default_factory=dict
    )
    statistics: Sequence[str] = ()
    free: Sequence[str] = ()
    shared: str | None = None
    result: str | Callable[[Mapping[str, Any]], str | None] | None = None
    of_shared: Callable[[np.dtype], str | np.dtype] | None = None
    others_too: bool = False
    others: str | Callable[[Mapping[str, Any]], str | None] | None = None
    usual: str = "float32"
    accepts: Mapping[str, Sequence[str]] | Callable[[int], Mapping[int, Sequence[str]]] = field(
        default_factory=dict
    )

    def accepted(self, names: Sequence[str], count: int) -> Mapping[int, Sequence[str]]:
        """The dtypes of inputs that do not take every one, by place.

        Args:
            names: the array parameter of each input; may be shorter.
            count: number of inputs.
        """
        if callable(self.accepts):
            return self.accepts(count)
        return {i: self.accepts[name] for i, name in enumerate(names) if name in self.accepts}

    def of_inputs(self, names: Sequence[str], count: int) -> dict[int, Known]:
        """The inputs that do not share the others' dtype, by place; None where any dtype will do.

        Args:
            names: the array parameter of each input; may be shorter.
            count: number of inputs.
        """
        if callable(self.own):
            own: Mapping[int, str | None] = self.own(count)
        else:
            own = {i: self.own[name] for i, name in enumerate(names) if name in self.own}
            other = {*self.statistics, *self.free}
            own |= {i: None for i, name in enumerate(names) if name in other}
        return {i: None if name is None else np.dtype(name) for i, name in own.items()}

    def when_unknown(self, attributes: Mapping[str, Any]) -> Known:
        """The shared dtype of arrays where none is known; None if it stays unknown."""
        if self.shared is None:
            return None
        return np.dtype(attributes.get(self.shared) or FLOAT32)

    def of_results(self, attributes: Mapping[str, Any], count: int) -> list[Known]:
        """The dtype of each output; None for the one that the inputs share."""
        result = self.result
        if callable(result):
            result = result(attributes)
        elif result is None and self.shared != "dtype":
            result = attributes.get("dtype")
        others = self.others(attributes) if callable(self.others) else self.others
        names = [result, *[others] * (count - 1)]
        return [np.dtype(name) if name else None for name in names[:count]]


def all_own(count: int) -> dict[int, str | None]:
    """Every input has a dtype of its own."""
    return dict.fromkeys(range(count))


SAME = Dtypes()
"""One dtype for all."""

TRUTH = Dtypes(result="bool")
"""The result is boolean."""

PLACES = Dtypes(result="int64")
"""The result is places in an array."""


def _fraction(dtype: np.dtype) -> str | np.dtype:
    return "float32" if dtype.kind in "biu" else dtype


FRACTION = Dtypes(of_shared=_fraction)
"""A quotient: of whole numbers float32."""

SOLUTION = Dtypes(
    of_shared=lambda dtype: "float64" if dtype.kind in "iu" else dtype, others_too=True
)
"""The solution of equations: of whole numbers float64."""

COUNT = Dtypes(of_shared=lambda dtype: "int64" if dtype.kind == "b" else dtype)
"""A sum: of booleans int64."""


# Looked up when this is imported: on threads that XLA calls Python from, numbers below the normal ones
# are zero, and NumPy warns of that when it looks at a dtype for the first time.
_LARGEST = {
    np.dtype(each): float(jnp.finfo(each).max)
    for each in (jnp.float16, jnp.bfloat16, jnp.float32, jnp.float64)
}


def to_dtype(data: jax.Array, dtype: DTypeLike) -> Any:
    """A cast as MXNet's: integers wrap, fractions are cut off.

    A float without a whole number of 32 bits (of 64, for dtypes of 64 bits), NaN among them,
    becomes the least such number, as processors have it; XLA would take the nearest.
    """
    target = jnp.dtype(dtype)
    if jnp.issubdtype(data.dtype, jnp.floating) and jnp.issubdtype(target, jnp.integer):
        bits = 64 if target.itemsize == 8 else 32
        above = 2.0 ** (bits - 1)
        largest = _LARGEST.get(data.dtype) or float(jnp.finfo(data.dtype).max)
        number = data.dtype.type(above if above <= largest else math.inf)
        limit = jax.lax.broadcast(number, data.shape)
        # Of jax.lax: jax.numpy's wrappers are most of the time that tracing takes.
        data = jax.lax.select(jax.lax.lt(jax.lax.abs(data), limit), data, jax.lax.neg(limit))
        data = jax.lax.convert_element_type(data, jnp.int64 if bits == 64 else jnp.int32)
    return jax.lax.convert_element_type(data, target)


def beside_number(data: jax.Array, is_int: bool) -> Any:
    """An array in the dtype in which it meets a number.

    Args:
        data: any array.
        is_int: whether the number is whole. Booleans meet it as int64; whole numbers and booleans meet any
            other number as float64.
    """
    if jnp.issubdtype(data.dtype, jnp.floating):
        return data
    if not is_int:
        return jax.lax.convert_element_type(data, jnp.float64)
    return jax.lax.convert_element_type(data, jnp.int64) if data.dtype == jnp.bool_ else data


def infer_beside_number(
    known: Sequence[Known], *, is_int: bool, **_: Any
) -> tuple[Sequence[Known], Sequence[Known]]:
    """The dtypes of an array and of what :func:`beside_number` makes of it, where they differ."""
    dtype = known[0]
    if dtype is None or dtype.kind not in "biu":
        return (), ()
    result = (
        np.dtype("float64") if not is_int else np.dtype("int64") if dtype.kind == "b" else dtype
    )
    return ((), ()) if result == dtype else ((dtype,), (result,))


def number_of_dtype(number: Any, dtype: DTypeLike) -> Any:
    """One number, of Python or traced, in a dtype."""
    return to_dtype(jnp.asarray(number), dtype)
