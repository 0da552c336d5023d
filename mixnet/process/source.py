"""The user's source line: the line outside this library that an operation comes from; names of functions."""

from __future__ import annotations

import contextlib
import functools
import linecache
import os
import sys
import sysconfig
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from mixnet import config

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# Networks that are programs like a user's: a view of one shows its own lines.
_NETWORKS = os.path.join(_PACKAGE, "gluon", "model_zoo") + os.sep
_STANDARD = sysconfig.get_path("stdlib") + os.sep
_LAYER_METHODS = ("forward", "hybrid_forward", "__call__")
# Installed packages lie in the folder of the standard library, and count as programs.
_INSTALLED = tuple(sysconfig.get_path(name) + os.sep for name in ("purelib", "platlib"))


@dataclass(frozen=True)
class Source:
    """A line of a program.

    Args:
        file: path, or the name that a notebook gives a cell.
        line: number from 1.
        function: name of the function that contains it.
        layer: where the innermost layer that was running had been made, if a layer was.
        callers: the user's lines that led there, the innermost first; only if they are asked for.
    """

    file: str
    line: int
    function: str
    layer: Source | None = None
    callers: tuple[Source, ...] = field(default=(), compare=False)

    @property
    def text(self) -> str:
        """The line without its indentation; empty if the file cannot be read."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        text = self.text
        return f"{known_as(self.file)}:{self.line}" + (f": {text}" if text else "")

    def to_dict(self) -> dict[str, Any]:
        """Plain data: ``file``, ``line``, ``function``, ``text``, ``layer``."""
        return {
            "file": self.file,
            "line": self.line,
            "function": self.function,
            "text": self.text,
            "layer": None if self.layer is None else self.layer.to_dict(),
        }


class _State(threading.local):
    """Whether this thread keeps the lines of operations, and the frame that ends the search."""

    on: bool = config.get("MIXNET_SOURCE_LINES")
    calls: bool = False  # whether the lines that led there are kept, too
    boundary: FrameType | None = None


_state = _State()


def is_library(file: str) -> bool:
    """Whether a file is this library's."""
    return file.startswith(_PACKAGE)


@functools.lru_cache(maxsize=4096)
def is_users(file: str) -> bool:
    """Whether a file is neither this library's nor Python's own."""
    if is_library(file) or file.startswith("<frozen "):
        return False
    return not file.startswith(_STANDARD) or file.startswith(_INSTALLED)


def ipython_shell() -> Any:
    """The IPython shell of this process; None if there is none. This does not import IPython."""
    return getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()


def notebook_shell() -> Any:
    """The IPython shell of a notebook's kernel; None elsewhere."""
    shell = ipython_shell()
    return shell if hasattr(shell, "kernel") else None


def known_as(file: str) -> str:
    """A file as people know it: a notebook's cell is ``In[7]``, not the file that its kernel makes up;
    a file of this library begins with the name of the package.
    """
    if file.startswith(_PACKAGE):
        return os.path.relpath(file, os.path.dirname(_PACKAGE[:-1])).replace(os.sep, "/")
    if "ipykernel_" not in file:
        return file
    shell = ipython_shell()
    title = None if shell is None else shell.compile.format_code_name(file)
    return title[1] if title else "a cell"


def in_project(file: str) -> str:
    """A file as views, which are shared, name it: without the folders of this machine.

    It is relative to the working directory, or to the folder that the file was imported from; of any
    other file, the name.
    """
    known = known_as(file)
    if not os.path.isabs(known):
        return known
    imported = [os.path.join(each, "") for each in sys.path if os.path.isabs(each)]
    for folder in (*_INSTALLED, _STANDARD, os.path.join(os.getcwd(), ""), *imported):
        # From the root of the file system, a relative path has all the folders.
        if file.startswith(folder) and folder != os.path.dirname(folder):
            return file.removeprefix(folder).replace(os.sep, "/")
    return os.path.basename(file)


def line_in_project(place: str) -> str:
    """``file:line`` with the file as :func:`in_project` names it."""
    file, colon, line = place.rpartition(":")
    return f"{in_project(file)}{colon}{line}" if colon else place


def user_line() -> str | None:
    """``file:line`` of the innermost user's code that is running; None if there is none.

    Cheap: every segment and every task of the engine notes it.
    """
    place = user_place(1)
    if place is None:
        return None
    code, offset = place
    # By identity: Python compares code objects by their content, which takes longer than the rest.
    key = id(code), offset
    known = _lines.get(key)
    if known is None or known[0] is not code:
        if len(_lines) >= _MOST_LINES:
            _lines.clear()
        line = f"{known_as(code.co_filename)}:{_line_of(place)}"
        known = _lines[key] = code, line
    return known[1]


def user_source(making: object = None) -> Source | None:
    """The innermost line on the stack that is the user's; None if there is none.

    Inside of :func:`source_lines` with a boundary, lines outside of that do not count: then it is
    the line that made the innermost layer; and networks of the model zoo count as programs.
    Costs a few microseconds, more in deep calls.

    Args:
        making: an object whose own ``__init__`` functions do not count.
    """
    frame: FrameType | None = sys._getframe(1)
    layer: Source | None = None
    while frame is not None and frame is not _state.boundary:
        code = frame.f_code
        if (
            making is not None
            and code.co_name == "__init__"
            and frame.f_locals.get(code.co_varnames[0]) is making
        ):
            frame = frame.f_back
            continue
        is_program = _state.boundary is not None and code.co_filename.startswith(_NETWORKS)
        if is_program or is_users(code.co_filename):
            callers = _callers(frame) if _state.calls else ()
            return Source(code.co_filename, frame.f_lineno, code.co_qualname, layer, callers)
        if layer is None and code.co_name in _LAYER_METHODS:
            # A layer knows where it was made; its class cannot be imported here, below Gluon.
            layer = getattr(frame.f_locals.get("self"), "_mx_made_at", None)
        frame = frame.f_back
    return layer


def _callers(frame: FrameType | None) -> tuple[Source, ...]:
    """The user's lines that called a frame, up to the program or the cell of a notebook."""
    callers: list[Source] = []
    while frame is not None and frame.f_code.co_name != "<module>" and len(callers) < MOST_CALLERS:
        frame = frame.f_back
        if frame is not None and is_users(frame.f_code.co_filename):
            code = frame.f_code
            callers.append(Source(code.co_filename, frame.f_lineno, code.co_qualname))
    return tuple(callers)


def warn_user(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line of the user's program, however deep in this library the cause is seen.

    As with ``warnings.warn``, a line that runs again does not repeat its warning.
    """
    source = user_source()
    if source is None:
        warnings.warn(text, category, stacklevel=2)
        return
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != source.file:
        frame = frame.f_back
    names = {} if frame is None else frame.f_globals
    warnings.warn_explicit(
        text,
        category,
        source.file,
        source.line,
        module=names.get("__name__"),
        registry=names.setdefault("__warningregistry__", {}),
    )


Place = tuple[CodeType, int]
"""A place in the user's code: the code object, and the offset of the instruction that was running."""

_users: dict[str, bool] = {}  # file -> whether it is the user's
_lines: dict[tuple[int, int], tuple[CodeType, str]] = {}  # identity and offset -> code, its line
_MOST_LINES = 1000
MOST_CALLERS = 8
"""The most lines of a call stack that are kept."""


def user_place(above: int) -> Place | None:
    """The place of the innermost line that is the user's; None if there is none.

    Much cheaper than :func:`user_source`: the number of the line is looked up only when
    :func:`source_of` asks for it.

    Args:
        above: how many frames above the caller's the search begins; those below are this library's.
    """
    try:
        frame: FrameType | None = sys._getframe(above + 1)
    except ValueError:
        return None
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        is_user = _users.get(file)
        if is_user is None:
            is_user = _users[file] = is_users(file)
        if is_user:
            return code, frame.f_lasti
        frame = frame.f_back
    return None


def source_of(place: Place) -> Source:
    """The line of a place."""
    code, _ = place
    return Source(code.co_filename, _line_of(place), code.co_qualname)


def _line_of(place: Place) -> int:
    code, offset = place
    lines = (line for start, end, line in code.co_lines() if start <= offset < end)
    return next(lines, None) or code.co_firstlineno


def are_lines_kept() -> bool:
    """Whether operations of this thread record their lines."""
    return _state.on


@contextlib.contextmanager
def source_lines(boundary: FrameType | None = None, calls: bool = False) -> Iterator[None]:
    """Scope in which traced and composed nodes keep the user's line that made them.

    The setting ``MIXNET_SOURCE_LINES`` turns it on everywhere. It costs a few microseconds for
    every node.

    Args:
        boundary: a frame of this library that the search for a line ends at.
        calls: whether to keep the lines that led there, too.
    """
    before = _state.on, _state.boundary, _state.calls
    _state.on, _state.boundary, _state.calls = True, boundary, calls
    try:
        yield
    finally:
        _state.on, _state.boundary, _state.calls = before


def code_of(function: object) -> CodeType | None:
    """The code of a function or of a bound method; None for other objects."""
    code = getattr(function, "__code__", None)
    return code if isinstance(code, CodeType) else None


def function_name(function: Callable[..., Any]) -> str:
    """The name of a function, or of the class of another callable object."""
    return str(getattr(function, "__name__", type(function).__name__))
