"""Docstrings of operators: what follows from their parameters is added to what their functions say."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from mixnet.ops.schema.attributes import Attribute

_BEHIND_ARGUMENTS = ("Attributes:", "Returns:", "Raises:", "Source:", "Example")
_USUAL = {
    "data": "an array.",
    "grad": "the gradient of the weight.",
    "lhs": "the array on the left.",
    "rhs": "the array on the right.",
    "weight": "the weight.",
}
"""Arrays that mean the same wherever an operator says nothing else of them."""
_LISTED_ATTRIBUTES = re.compile(r"^Attributes:\n(?: .*\n?)+\n?", re.MULTILINE)
_END_OF_RANGE = re.compile(r"(?:(min|max)_(\w+)|(\w+)_(min|max))")


def with_arguments(text: str, arguments: Mapping[str, str]) -> str:
    """A docstring with further arguments, behind those that it describes.

    Args:
        text: the docstring.
        arguments: what each is; those that the docstring describes stay as they are there.
    """
    lines = text.splitlines()
    start = lines.index("Args:") if "Args:" in lines else None
    first = 0 if start is None else start + 1
    end = next(
        (i for i in range(first, len(lines)) if lines[i].startswith(_BEHIND_ARGUMENTS)), len(lines)
    )
    described = {
        name
        for line in lines[first:end]
        if start is not None and re.match(r"    \*{0,2}\w[\w*, ]*:", line)
        for name in re.findall(r"\w+", line.partition(":")[0])
    }
    more = [f"    {name}: {about}" for name, about in arguments.items() if name not in described]
    if not more:
        return text
    before = "\n".join(lines[:end]).rstrip()
    section = more if start is not None else ["", "Args:", *more]
    return "\n".join([before, *section, "", *lines[end:]]).rstrip()


def with_attributes(text: str, attributes: Iterable[Attribute]) -> str:
    """A docstring with the type, range and default of each attribute, behind its arguments.

    The docstring of an operator that is derived from another one lists the attributes of that one, which
    are replaced.
    """
    text = _LISTED_ATTRIBUTES.sub("", text)
    listed = [f"    {each.name}: {each.in_help}." for each in attributes]
    if not listed:
        return text
    lines = text.splitlines()
    at = next((i for i, line in enumerate(lines) if line.startswith(_BEHIND_ARGUMENTS)), len(lines))
    before = lines[:at] if at < len(lines) else [*lines, ""]
    return "\n".join([*before, "Attributes:", *listed, "", *lines[at:]]).rstrip()


def about_arrays(
    arrays: Sequence[str], variadic: str | None, states: Collection[str]
) -> dict[str, str]:
    """What an operator's arrays are, as far as their names and roles say it.

    Args:
        arrays: names of the parameters.
        variadic: name of the parameter that takes any number of arrays, if there is one.
        states: those that the operator writes.
    """
    result = {}
    for name in arrays:
        end = _END_OF_RANGE.fullmatch(name)
        if name in states:
            result[name] = "state, which is written."
        elif end is not None:
            of, extreme = end[2] or end[3], end[1] or end[4]
            largest = "largest" if extreme == "max" else "smallest"
            result[name] = f"the {largest} number of the range of ``{of}``, ``(1,)``."
        elif name in _USUAL:
            result[name] = _USUAL[name]
    if variadic is not None:
        result[variadic] = "arrays."
    return result
