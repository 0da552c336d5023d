"""Match parameters of a file to the names used by a network."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from mixnet.base import AttributeTypeError, AttributeValueError, CheckError

Names = Mapping[str, str | None] | Callable[[str], str | None]


def renamed(arrays: Mapping[str, Any], names: Names, source: str) -> dict[str, Any]:
    """The arrays under new names.

    Args:
        arrays: of a file.
        names: a function from the file's name of an array to the network's, or None to skip the array; or a
            dict from regular expressions to replacements of the text they match, None to skip the array.
            All expressions of a dict are tried, in order, each on the result of the previous ones.
        source: of the arrays, for error messages.

    Raises:
        AttributeTypeError: ``names`` is neither.
        AttributeValueError: a regular expression or its replacement is invalid.
        CheckError: two arrays would get one name.
    """
    rename = _function(names)
    by_new_name: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for name, value in arrays.items():
        new = rename(name)
        if new is None:
            continue
        if not isinstance(new, str):
            raise AttributeTypeError(
                f"names: {name!r} became {new!r:.60}; a new name is a string, or None."
            )
        if new in by_new_name:
            raise CheckError(
                f"names: {origins[new]!r} and {name!r} of {source} both become {new!r}. Leave one out, "
                f"with None in place of its new name."
            )
        by_new_name[new], origins[new] = value, name
    return by_new_name


def _function(names: Names) -> Callable[[str], str | None]:
    if isinstance(names, Mapping):
        return _by_patterns(names)
    if callable(names):
        return names
    raise AttributeTypeError(
        f"names={names!r:.60} is neither a dict from regular expressions to replacements nor a function."
    )


def _by_patterns(names: Mapping[str, str | None]) -> Callable[[str], str | None]:
    rules = []
    for pattern, replacement in names.items():
        try:
            rules.append((re.compile(pattern), replacement))
        except (re.error, TypeError) as error:
            raise AttributeValueError(
                f"names: {pattern!r} is not a regular expression: {error}."
            ) from None

    def rename(name: str) -> str | None:
        for pattern, replacement in rules:
            if replacement is None:
                if pattern.search(name):
                    return None
                continue
            try:
                name = pattern.sub(replacement, name)
            except (re.error, IndexError, TypeError) as error:
                raise AttributeValueError(
                    f"names: {replacement!r} cannot replace what {pattern.pattern!r} matches: {error}."
                ) from None
        return name

    return rename
