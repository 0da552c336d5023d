"""An interrupt at any line of the package, the worst case of Ctrl-C."""

from __future__ import annotations

import ast
import signal
import sys
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

Subject = TypeVar("Subject")


@cache
def _lines_of_with(filename: str) -> frozenset[int]:
    tree = ast.parse(Path(filename).read_text())
    return frozenset(node.lineno for node in ast.walk(tree) if isinstance(node, ast.With))


@cache
def _lines_of_try(filename: str) -> frozenset[int]:
    tree = ast.parse(Path(filename).read_text())
    return frozenset(node.lineno for node in ast.walk(tree) if isinstance(node, ast.Try))


@cache
def _is_in(filename: str, folders: tuple[str, ...]) -> bool:
    return any(folder in filename for folder in folders)


def press(frame: FrameType) -> None:
    """Call the handler of SIGINT, as Python does after Ctrl-C."""
    handler = signal.getsignal(signal.SIGINT)
    assert callable(handler)
    handler(signal.SIGINT, frame)


def interrupted(at: int, folders: tuple[str, ...], work: Callable[[], object]) -> str | None:
    """Run ``work`` with Ctrl-C before the ``at``-th line that runs in these folders.

    The way out of a ``with`` block, a ``try:`` and, since Python 3.12, every round of a comprehension count
    as lines to a tracer, but not to Python's signal handling: no interrupt comes there. (Raised at such a
    line, an exception skips ``__exit__``.)

    Returns:
        Where the interrupt came; None if there are fewer lines.
    """
    left = at
    place: str | None = None
    before: dict[int, int] = {}  # id of a frame -> its line before

    def trace_call(frame: FrameType, event: str, _: Any) -> Any:
        return trace_lines if _is_in(frame.f_code.co_filename, folders) else None

    def trace_lines(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal left, place
        if event == "line":
            name, line, number = frame.f_code.co_filename, frame.f_lineno, id(frame)
            earlier = before.get(number, 0)
            before[number] = line
            leaves_with = line < earlier and line in _lines_of_with(name)
            if leaves_with or line in _lines_of_try(name) or line == earlier:
                return trace_lines
            left -= 1
            if not left:
                sys.settrace(None)
                place = f"{Path(name).name}:{line} {frame.f_code.co_name}"
                press(frame)
        elif event == "return":
            before.pop(id(frame), None)
        return trace_lines

    sys.settrace(trace_call)
    try:
        work()
        sys.settrace(None)
        if place is not None:  # Python dropped it in a finalizer; mixnet raises it again
            time.sleep(1)
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(None)
    return place


def is_all_or_nothing(
    make: Callable[[], Subject],
    change: Callable[[Subject], object],
    content: Callable[[Subject], str],
    stride: int,
    folders: tuple[str, ...] = ("/mixnet/",),
) -> None:
    """Check that an interrupt at any line of a change leaves everything as before it or as after it.

    Args:
        make: creates what is changed, always with the same content.
        change: is interrupted at every ``stride``-th line that runs in the folders.
        content: everything that the change may affect, as text.
        stride: lines between two interrupts.
        folders: parts of the paths of the files whose lines count.
    """
    subject = make()
    before = content(subject)
    change(subject)
    after = content(subject)
    assert before != after
    outcomes = set()
    place: str | None = ""
    at = 1
    while place is not None:
        subject = make()
        place = interrupted(at, folders, partial(change, subject))
        now = content(subject)
        assert now in (before, after), place
        outcomes.add(now)
        at += stride
    assert outcomes == {before, after}
