"""Sums that stay on the devices where they were computed, until they are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache, partial
from operator import add
from threading import get_ident
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from mixnet.autograd.scope import unrecorded
from mixnet.base import UnknownAttributeError
from mixnet.context import Context, current_context
from mixnet.dtype import as_numbers
from mixnet.ndarray.invoke import make_function
from mixnet.ndarray.ndarray import NDArray
from mixnet.ops.op import Op
from mixnet.process.interrupt import Deferred
from mixnet.runtime.devices.host_value import HostValue
from mixnet.runtime.interpret import on_numpy
from mixnet.runtime.record.record import flush
from mixnet.runtime.value.value import Spec, from_host

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def measure(function: Callable[..., Any]) -> Op:
    """Decorator: a pure function of the arrays of a batch that gives float64 numbers to add up."""
    return Op(function.__name__, function, differentiable=False)


@cache
def _function(op: Op) -> Callable[..., NDArray]:
    """The function of a measure, which remembers its calls."""
    return make_function(op, op.name)


def measured(op: Op, arrays: Sequence[NDArray], **attributes: Any) -> NDArray:
    """Record a measure of arrays, which are brought to the device of the last of them."""
    context = arrays[-1].context

    def record() -> NDArray:
        return _function(op)(*[each.as_in_context(context) for each in arrays], **attributes)

    return unrecorded(record)


def counted(op: Op, arrays: Sequence[NDArray], **attributes: Any) -> NDArray | np.ndarray:
    """``measured``, or the numbers themselves where the host has the arrays already and they are small.

    Args:
        op: a measure that gives whole numbers: they are the same wherever they are computed.
        arrays: the arrays.
        attributes: of the measure.
    """
    contents, specs, size = [], [], 0
    for each in arrays:
        spec = each._value.spec
        size += spec.nbytes
        content = known_content(each) if size <= _MOST_BYTES_ON_HOST else None
        if content is None:
            return measured(op, arrays, **attributes)
        contents.append(content)
        specs.append(spec)
    run = _on_host(op, tuple(specs), tuple(attributes.items()))
    if run is None:
        return measured(op, arrays, **attributes)
    numbers: np.ndarray = run(*contents)[0]
    return numbers


_MOST_BYTES_ON_HOST = 1 << 16
"""The size of arrays up to which computing takes less time than recording."""


@lru_cache(1000)
def _on_host(
    op: Op, specs: tuple[Spec, ...], attributes: tuple[tuple[str, Any], ...]
) -> Callable[..., list[np.ndarray]] | None:
    """A measure as a function of NumPy arrays that returns a list with its numbers."""
    known = [jax.ShapeDtypeStruct(spec.shape, spec.dtype) for spec in specs]
    try:
        return on_numpy.compiled(partial(op.function, **dict(attributes)), *known)
    except on_numpy.NoRuleError:
        return None


def as_array(source: ArrayLike | NDArray) -> NDArray:
    """A dense array from an array, a NumPy array, or numbers."""
    if not isinstance(source, NDArray):
        try:
            numbers = as_numbers(source)
        except TypeError:
            raise UnknownAttributeError(
                f"A metric takes arrays, or lists of arrays, as labels and predictions, not "
                f"{type(source).__name__}; update_dict() takes arrays by name."
            ) from None
        return NDArray._wrap(from_host(numbers, current_context()))
    if source._is_sparse:
        source = source.tostype("default")
    return NDArray._wrap(source._read())


_NO_CLASS = int(np.iinfo(np.int32).min)


def as_classes(numbers: Any, where: Callable[..., Any] = jnp.where) -> Any:
    """Class numbers, int32: fractions are cut off; NaN and numbers beyond int32 are no class."""
    if jnp.issubdtype(numbers.dtype, jnp.floating):
        numbers = numbers.astype(np.float64)
        numbers = where(abs(numbers) < -_NO_CLASS, numbers, _NO_CLASS)
    return numbers.astype(np.int32)


def known_content(source: NDArray) -> np.ndarray | None:
    """The content of a dense array if the host has it already; None if it would have to wait."""
    if source._is_sparse:
        return None
    value = source._value if source._link is None else source._read()
    array = value.host_array if type(value) is HostValue else None
    if array is None:
        array = value.array
        if array is None or value.spec.context.device_type != "cpu" or not array.is_ready():
            return None
    return np.asarray(array)


def classes_on_host(source: NDArray) -> np.ndarray | None:
    """``as_classes`` of an array if the host has it already; None if it would have to wait."""
    content = known_content(source)
    if content is None:
        return None
    classes: np.ndarray = as_classes(content, np.where)
    return classes


Sums = dict[tuple[Context | None, tuple[int, ...], int], NDArray | np.ndarray]
"""Sums by context, None for the host, by shape and by thread."""


class Totals:
    """Numbers that are added up on each device, separately for each shape of arrays and each thread."""

    def __init__(self) -> None:
        self._sums: Sums = {}

    def add(self, numbers: NDArray | np.ndarray) -> None:
        """Add an array of float64 numbers, on a device or the host; nothing waits for them."""
        context = None if isinstance(numbers, np.ndarray) else numbers.context
        key = (context, numbers.shape, get_ident())
        before = self._sums.get(key)
        if isinstance(numbers, np.ndarray):
            self._sums[key] = numbers if before is None else before + numbers
            return
        if before is None:
            # Zeros from the host: the first batch then runs the same program as the others.
            before = NDArray._wrap(from_host(np.zeros(numbers.shape), numbers.context))
        self._sums[key] = unrecorded(partial(add, before, numbers))

    def merge(self, other: Totals) -> None:
        """Add what another one holds, and take it from there."""
        for sums in other._sums.values():
            self.add(sums)
        other._sums = {}

    def take(self, receive: Callable[[np.ndarray], None]) -> None:
        """Wait for the sums over all devices, and begin at 0 again; after Ctrl-C they are still here.

        Args:
            receive: gets the sums, one of each shape.
        """
        if not self._sums:
            return
        sums, self._sums = self._sums, {}
        try:
            if any(context is not None for context, _, _ in sums):
                flush("metric read")
            totals: dict[tuple[int, ...], np.ndarray] = {}
            for (_, shape, _), each in sums.items():
                numbers = each if isinstance(each, np.ndarray) else each.asnumpy()
                totals[shape] = totals.get(shape, 0) + numbers
            with Deferred():
                for total in totals.values():
                    receive(total)
                sums = {}
        except KeyboardInterrupt:
            self._put_back(sums)
            raise

    def _put_back(self, sums: Sums) -> None:
        if not self._sums:
            self._sums = sums
            return
        for each in sums.values():  # another thread has added some meanwhile
            self.add(each)
