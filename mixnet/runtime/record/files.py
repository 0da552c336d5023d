"""Files in the engine: reads and writes of one path are ordered, including asynchronous ones."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterable
from typing import TypeVar

from mixnet.engine.current import current
from mixnet.engine.engine import is_reported
from mixnet.engine.variable import Var
from mixnet.process import locks
from mixnet.runtime.value.later import variables_of
from mixnet.runtime.value.value import Value

Answer = TypeVar("Answer")
_variables: weakref.WeakValueDictionary[str, _FileVar] = weakref.WeakValueDictionary()
_lock = locks.make("files")


class _FileVar(Var):
    __slots__ = ("__weakref__",)


def variable(path: str | os.PathLike[str]) -> Var:
    """The variable of a file: the same for every spelling of the path, and named after the first."""
    key = os.path.realpath(path)
    with _lock:  # of one file, all threads use one variable
        var = _variables.get(key)
        if var is None:
            var = _variables[key] = _FileVar(os.fsdecode(path))
    return var


class Saving:
    """A file that is being written; ``wait()`` for it.

    Args:
        path: the path of the file.
        var: the file's variable.
    """

    def __init__(self, path: str, var: Var):
        self.path = path
        self._var = var
        self._version = var.pushed

    @property
    def done(self) -> bool:
        """Whether the file is complete or has failed."""
        return self._var.version >= self._version

    def wait(self) -> None:
        """Wait until the file is complete.

        Raises:
            Exception: the error of writing it; also raised by ``mx.nd.waitall()``.
        """
        current.engine.wait_for_var(self._var)

    def __repr__(self) -> str:
        return f"<Saving {self.path!r}: {'done' if self.done else 'on its way'}>"


def write(
    path: str | os.PathLike[str], work: Callable[[], None], values: Iterable[Value], wait: bool
) -> Saving | None:
    """Push ``work``, which writes a file, to the engine.

    Args:
        path: the path of the file.
        work: called by an I/O worker when the values are computed.
        values: to write.
        wait: return when the file is complete; otherwise return a handle immediately.
    """
    name = os.fspath(path)
    var = variable(path)
    reads = variables_of(list(values), "save")
    if wait:
        current.engine.push_sync(work, reads, (var,), "io", name=f"save {name}")
        return None
    current.engine.push(work, reads, (var,), "io", name=f"save {name}")
    return Saving(name, var)


def read(path: str | os.PathLike[str], work: Callable[[], Answer]) -> Answer:
    """The result of ``work``, run after all pending writes of the file.

    Raises:
        Exception: the error of a failed write, unless it has been reported; in that case the previous
            content of the file is read.
    """
    results: list[Answer] = []
    var = variable(path)
    if is_reported(var.error):
        var.error = None
    current.engine.push_sync(
        lambda: results.append(work()), (var,), (), "io", name=f"load {os.fspath(path)}"
    )
    return results[0]
