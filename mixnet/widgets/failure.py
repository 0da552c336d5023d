"""One line of an error, for readers of a view."""

from __future__ import annotations

from mixnet.base import MXNetError


def error_line(error: BaseException) -> str:
    """The message of an error: the first line of one of mixnet's; the class and the last line of another."""
    name = type(error).__name__
    lines = str(error).strip().splitlines()
    if not lines:
        return name
    if isinstance(error, MXNetError):
        return lines[0]
    return lines[-1] if lines[-1].startswith(f"{name}:") else f"{name}: {lines[-1]}"
