"""Distribution parameters given as arrays: check that their values are in the attribute's range."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as onp

from mixnet.base import AttributeValueError
from mixnet.ndarray.ndarray import NDArray, on_host
from mixnet.ops.registry import find
from mixnet.ops.schema.ranges import Range
from mixnet.runtime.value.state import is_tracing, state

if TYPE_CHECKING:
    from mixnet.numpy.call import Operand


def check_array_parameter(operator: str, name: str, value: Operand | None) -> None:
    """Refuse numbers outside of the range that the operator's attribute of that name has.

    An array that is still to be computed is waited for, but while gradients are recorded: then the
    step stays one program, and only what is known is looked at. NaN passes, as in MXNet.

    Args:
        operator: the operator's name.
        name: the attribute that the array stands for.
        value: an array; numbers and symbols are left to the operator.

    Raises:
        ValueError: a number is out of range.
    """
    if not isinstance(value, NDArray) or is_tracing():
        return
    limits = [each for each in find(operator).attributes[name].limits if isinstance(each, Range)]
    if not limits:
        return
    numbers = on_host(value) if state.recording else value.asnumpy()
    if numbers is None:
        return
    numbers = numbers[~onp.isnan(numbers)]
    for each in (numbers.min(), numbers.max()) if numbers.size else ():
        for limit in limits:
            if each not in limit:
                raise AttributeValueError(
                    f"{operator.removeprefix('_npi_')}: {name} holds {each:g}, which is out of "
                    f"range; give {limit}."
                )
