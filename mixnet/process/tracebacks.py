"""Tracebacks without this library's own frames: what a person who reads an error needs."""

from __future__ import annotations

import functools
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

from mixnet import config
from mixnet.base import MXNetError
from mixnet.process.source import ipython_shell, is_library, is_users

Hook = Callable[[type[BaseException], BaseException, Any], None]
"""A function like ``sys.excepthook``."""


def shortened(error: BaseException) -> TracebackType | None:
    """The traceback of an error without the frames of this library, but for the innermost.

    The setting ``MIXNET_FULL_TRACEBACK`` leaves it as it is.

    Args:
        error: what the calling function caught; its own frame is left out.
    """
    frames = _frames(error)[1:]
    if not frames or config.get("MIXNET_FULL_TRACEBACK"):
        return frames[0] if frames else None
    shown = [each for each in frames[:-1] if is_users(each.tb_frame.f_code.co_filename)]
    return _joined([*shown, frames[-1]])


def of_program(error: BaseException) -> TracebackType | None:
    """The part of an error's traceback that its program can do something about.

    An error of this library says in its text what to do: only the frames of the program are left. Any
    other error loses this library's frames, unless it was raised there.

    Args:
        error: of any kind. It is not changed.
    """
    frames = _frames(error)
    if isinstance(error, MXNetError):
        shown = [each for each in frames if _is_programs(each.tb_frame.f_code.co_filename)]
    else:
        shown = [each for each in frames[:-1] if not is_library(each.tb_frame.f_code.co_filename)]
        shown += frames[-1:]
    return _joined(shown or frames[-1:])


def show(hook: Hook, error: BaseException) -> None:
    """Let a hook print an error, and those that led to it, with the frames of the program.

    Args:
        hook: prints it.
        error: that ends the program.
    """
    errors = [] if config.get("MIXNET_FULL_TRACEBACK") else list(_chain(error))
    complete = [each.__traceback__ for each in errors]
    for each in errors:
        each.__traceback__ = of_program(each)
    try:
        hook(type(error), error, error.__traceback__)
    finally:
        for each, trace in zip(errors, complete, strict=True):
            each.__traceback__ = trace


def print_error(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    """A hook that prints an error like Python's, but as one piece: several processes may print at once."""
    sys.stderr.write("".join(traceback.format_exception(kind, error, trace)))
    sys.stderr.flush()


def show_in_notebook() -> None:
    """Let the IPython shell of this process, if it has one, show this library's errors in the same way."""
    shell = ipython_shell()
    if shell is None or shell.custom_exceptions:  # installed by another library
        return

    def handle(
        shell: Any,
        kind: type[BaseException],
        error: BaseException,
        trace: Any,
        tb_offset: Any = None,
    ) -> None:
        show(lambda *three: shell.showtraceback(three, tb_offset=tb_offset), error)

    shell.set_custom_exc((MXNetError,), handle)


@functools.lru_cache(maxsize=4096)
def _is_programs(file: str) -> bool:
    """Whether a file is a user's, and not of JAX, which calls operators written in Python."""
    jax = sys.modules.get("jax")
    folder = os.path.dirname(getattr(jax, "__file__", None) or "")
    return is_users(file) and not (folder and file.startswith(folder + os.sep))


def _frames(error: BaseException) -> list[TracebackType]:
    frames, each = [], error.__traceback__
    while each is not None:
        frames.append(each)
        each = each.tb_next
    return frames


def _joined(frames: list[TracebackType]) -> TracebackType | None:
    """A traceback of some frames, outermost first; those given stay as they are."""
    joined = None
    for each in reversed(frames):
        joined = TracebackType(joined, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return joined


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error and those that led to it, as Python prints them."""
    visited: set[int] = set()
    each: BaseException | None = error
    while each is not None and id(each) not in visited:
        visited.add(id(each))
        yield each
        each = each.__cause__ or (None if each.__suppress_context__ else each.__context__)
