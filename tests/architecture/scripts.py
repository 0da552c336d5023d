"""Identifiers of JavaScript: what remains of a script without comments, strings and names of properties."""

from __future__ import annotations

import re
from collections.abc import Iterator

_SKIPPED = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
    r"""|(?<=[(,=:\[!&|?{};])(\s*)/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/[a-z]*""",
    re.DOTALL,
)
_IDENTIFIER = re.compile(r"(?:(?<![\w$.])|(?<=\.\.\.))[A-Za-z_$][\w$]*+(?!\s*:)")


def _code_of_template(text: str, start: int) -> tuple[str, int]:
    """The expressions of a template literal that begins before ``start``, and where it ends."""
    parts: list[str] = []
    place = start
    while text[place] != "`":
        if text[place] == "\\":
            place += 2
        elif text.startswith("${", place):
            code, place = _code(text, place + 2, "}")
            parts.append(f"({code})")
        else:
            place += 1
    return " ".join(parts), place + 1


def _code(text: str, start: int, end: str) -> tuple[str, int]:
    """The code up to a bracket that nothing in it has opened, without strings and comments."""
    parts: list[str] = []
    depth, place = 0, start
    while place < len(text):
        if text[place] == end and not depth:
            return "".join(parts), place + 1
        skipped = _SKIPPED.match(text, place)
        if text[place] == "`":
            code, place = _code_of_template(text, place + 1)
            parts.append(f" {code} ")
        elif skipped:
            parts.append(" 0 ")
            place = skipped.end()
        else:
            depth += (text[place] == "{") - (text[place] == "}")
            parts.append(text[place])
            place += 1
    return "".join(parts), place


def identifiers(text: str) -> Iterator[str]:
    """Every name in a script that is not that of a property behind a dot or before a colon."""
    code, _ = _code(text, 0, "")
    yield from _IDENTIFIER.findall(code)
