"""Docstrings as Markdown: sections become lists, roles and double backticks plain code."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping

_SECTION = re.compile(
    r"^(Args|Attributes|Raises|Returns|Yields|Source|Example|Examples|Note|Notes):\s*(.*)$"
)
_LISTS = {"Args": "Arguments", "Attributes": "Attributes", "Raises": "Raises"}
_ITEM = re.compile(r"^(\S[^:]*?): (.*)$")
_CODE = re.compile(r"``(.+?)``|:\w+:`~?([^`]+)`|`([^`]+)`")


def inline(text: str) -> str:
    """A piece of running text: code stays code, signs that Markdown would take are escaped."""
    parts, end = [], 0
    for found in _CODE.finditer(text):
        parts += [_escaped(text[end : found.start()]), f"`{next(filter(None, found.groups()))}`"]
        end = found.end()
    return "".join([*parts, _escaped(text[end:])])


def _escaped(text: str) -> str:
    return re.sub(r"([*<\[\]$])", r"\\\1", text)


def summary(text: str | None) -> str:
    """The first paragraph, for tables."""
    first = inspect.cleandoc(text or "").split("\n\n")[0].replace("\n", " ")
    return inline(first).replace("|", "\\|")


def to_markdown(text: str | None, types: Mapping[str, str] | None = None) -> str:
    """A docstring in Google's style.

    Args:
        text: the docstring.
        types: types of arguments by name, shown beside them.
    """
    title, body = "", []
    made: list[str] = []
    for line in [*inspect.cleandoc(text or "").splitlines(), "Note: "]:
        found = _SECTION.match(line)
        if found is None:
            body.append(line)
            continue
        made += _section(title, body, types or {})
        title, body = found.group(1), [f"    {found.group(2)}"] if found.group(2) else []
    return "\n".join(made).strip() + "\n"


def _section(title: str, lines: list[str], types: Mapping[str, str]) -> list[str]:
    if not title:
        return _paragraphs(lines)
    lines = inspect.cleandoc("\n" + "\n".join(lines)).splitlines()
    if not any(lines):
        return []
    if title in _LISTS:
        return ["", f"**{_LISTS[title]}**", "", *_items(lines, types)]
    if title.startswith("Example"):
        code = any(line.startswith(">>>") for line in lines)
        return ["", "**Example**", "", *(["```python", *lines, "```"] if code else lines)]
    body = _paragraphs(lines)
    return ["", f"**{title}:** {body[0]}", *body[1:]]


def _paragraphs(lines: list[str]) -> list[str]:
    """Text is escaped; what is indented after an empty line is code, as Markdown has it."""
    made: list[str] = []
    code = False
    for i, line in enumerate(lines):
        before = lines[i - 1] if i else ""
        in_list = bool(re.match(r"\s*([-*]|\d+\.) ", before)) or (
            made and made[-1].startswith("  ")
        )
        indented = line.startswith("    ")
        code = (indented and (code or not before.strip()) and not in_list) or (code and not line)
        if re.match(r"[*-] ", line):
            made.append(line[:2] + inline(line[2:]))
        else:
            made.append(
                line
                if code
                else inline(line.removesuffix("::") + (":" if line.endswith("::") else ""))
            )
    return made


def _items(lines: list[str], types: Mapping[str, str]) -> list[str]:
    made: list[str] = []
    for line in lines:
        found = None if line.startswith(" ") else _ITEM.match(line)
        if found is None:
            made.append(f"  {inline(line.strip())}" if line.strip() else "")
            continue
        names = [each.strip() for each in found.group(1).split(",")]
        shown = ", ".join(f"`{each.strip('`')}`" for each in names)
        kinds = list(dict.fromkeys(types[n.lstrip("*")] for n in names if n.lstrip("*") in types))
        kind = f" (`{kinds[0]}`)" if len(kinds) == 1 else ""
        made.append(f"- {shown}{kind}: {inline(found.group(2))}")
    return made
