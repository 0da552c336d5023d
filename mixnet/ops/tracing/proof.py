"""Proofs of templates: the trace of an additional call shows whether a template holds.

Numbers may agree in two traces by chance: with 4 samples of 2 classes, and with 6 samples of 4, the number of
classes plus 1 is the number of samples minus 1. The extents of the additional calls are unrelated.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from mixnet.ops.tracing.inlined import inlined
from mixnet.ops.tracing.template import Call, Template
from mixnet.private_jax.jaxprs import ClosedJaxpr


def far(extent: int, number: int) -> int:
    """Another extent, for the first of two further calls.

    Args:
        extent: an extent of a call.
        number: its index among the different extents of the call.
    """
    return 2 * extent + 31 + 10 * number


def near(extent: int, number: int) -> int:
    """Another extent, for the second of two further calls; arguments as for :func:`far`."""
    return extent + 7 + 4 * number * number


def doubled(extent: int, number: int) -> int:
    """Twice an extent, for an operator that takes no others; arguments as for :func:`far`."""
    return 2 * extent


def tripled(extent: int, number: int) -> int:
    """Three times an extent; arguments as for :func:`far`."""
    return 3 * extent


def is_proved(template: Template, call: Call, trace: Callable[[Call], ClosedJaxpr]) -> bool | None:
    """Whether a template gives the trace of another call; None if the operator takes no other call.

    Args:
        template: the template of two traces.
        call: a call for which it gives a program.
        trace: returns the jaxpr of a call, or raises the operator's error.
    """
    for change in (near, tripled):
        other = template.changed(call, change)
        program = None if other is None else template.at(other)
        if other is None or program is None:  # the template does not apply to such extents
            continue
        try:
            expected = inlined(trace(other))
        except Exception:  # the operator does not take these extents
            continue
        return str(program) == str(expected)
    return None


def changed(
    call: Call, change: Callable[[int, int], int], sizes: Collection[int] = frozenset()
) -> Call:
    """The call with other extents above 1, in inputs and attributes.

    Args:
        call: the call.
        change: returns another extent, for an extent and its number.
        sizes: extents that stay as they are.
    """
    extents = {extent: extent for extent in sizes}
    for shape, _ in call.inputs:
        for extent in shape:
            if extent > 1:
                extents.setdefault(extent, change(extent, len(extents)))
    inputs = tuple(
        [
            (tuple([extents.get(extent, 1) for extent in shape]), dtype)
            for shape, dtype in call.inputs
        ]
    )
    if not extents:  # an operator that creates an array
        return Call(_with_numbers(call.statics, lambda each: change(each, each)), inputs)
    return Call(_with_numbers(call.statics, lambda each: extents.get(each, each)), inputs)


def sizes_among(attributes: Any) -> frozenset[int]:
    """The numbers above 1 in tuples of integers, such as the sizes of a kernel."""
    if type(attributes) is not tuple:
        return frozenset()
    if all(type(each) is int for each in attributes):
        return frozenset(each for each in attributes if each > 1)
    return frozenset().union(*map(sizes_among, attributes))


def _with_numbers(attribute: Any, change: Callable[[int], int]) -> Any:
    """An attribute with other integers in place of those above 1."""
    if type(attribute) is int and attribute > 1:
        return change(attribute)
    if type(attribute) is tuple:
        return tuple([_with_numbers(each, change) for each in attribute])
    return attribute
