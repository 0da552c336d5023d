"""Parameters of distributions: check that numbers and values of arrays are in the attribute's range."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as onp

from mixnet.base import AttributeValueError
from mixnet.ndarray.ndarray import NDArray, on_host
from mixnet.ops.registry import find
from mixnet.ops.schema.ranges import Range, in_words
from mixnet.runtime.value.state import is_tracing, state

if TYPE_CHECKING:
    from mixnet.numpy.call import Operand


def check_parameter(
    function: str, parameter: str, value: Operand | None, operator: str, name: str
) -> None:
    """Refuse numbers outside of the range that the operator's attribute of that name has.

    An array that is still to be computed is waited for, but while gradients are recorded: then the
    step stays one program, and only what is known is looked at. NaN in an array passes, as in MXNet.

    Args:
        function: what the user called, for the error.
        parameter: its parameter, for the error.
        value: a number or an array; symbols are left to the operator.
        operator: the operator's name.
        name: the attribute that the value stands for.

    Raises:
        ValueError: a number is out of range.
    """
    attribute = find(operator).attributes[name]
    limits = [each for each in attribute.limits if isinstance(each, Range)]
    if isinstance(value, (int, float)):
        for limit in limits:
            if not limit.allows(value):
                raise AttributeValueError(
                    f"{function}: {parameter}={value!r} is out of range; give "
                    f"{in_words(attribute.kind, limits)}, or an array of such numbers."
                )
        return
    if not isinstance(value, NDArray) or is_tracing() or not limits:
        return
    numbers = on_host(value) if state.recording else value.asnumpy()
    if numbers is None:
        return
    numbers = numbers[~onp.isnan(numbers)]
    for each in (numbers.min(), numbers.max()) if numbers.size else ():
        for limit in limits:
            if each not in limit:
                raise AttributeValueError(
                    f"{function}: {parameter} holds {each:g}, which is out of range; give {limit}."
                )
