"""Starting, stopping and saving the profile of this process; the functions of ``mx.profiler``."""

from __future__ import annotations

import atexit
import contextlib
import json
import threading
import time
import warnings
from collections.abc import Iterator
from typing import Any

import jax

from mixnet import config
from mixnet.base import AttributeValueError, CheckError, MXNetError
from mixnet.files.whole_file import write_whole
from mixnet.process import locks
from mixnet.profiler import settings
from mixnet.profiler.session import session
from mixnet.profiler.table import SORT_KEYS, aggregate, as_json, as_table
from mixnet.profiler.trace import chrome_trace
from mixnet.runtime.record.record import wait_for_all


class KVStoreHandle:
    """The KVStore whose servers' profiles are requested; ``value`` is None without one."""

    def __init__(self) -> None:
        self.value: Any = None


profiler_kvstore_handle = KVStoreHandle()


def set_kvstore_handle(handle: object) -> None:
    """Name the KVStore of this process.

    Args:
        handle: the store.
    """
    profiler_kvstore_handle.value = handle


def set_config(**kwargs: object) -> None:
    """Choose what the next profile records; options that are not given return to their defaults.

    Args:
        kwargs: ``profile_imperative`` (True) runs operations on arrays one at a time, so that each has
            a row with its own time; ``profile_symbolic`` (True) does the same to the operators of
            hybridized blocks and bound symbols. With both False, programs run as they
            always do, and each has one row. ``profile_memory`` (True) counts the bytes alive after
            each program and copy. ``profile_all`` (False) is all of them. ``filename``
            (``'profile.json'``) is where ``dump`` writes; with ``continuous_dump`` (True) the file is
            also written every ``dump_period`` (1.0) seconds and at the end of the process.
            ``aggregate_stats`` (False) collects the table of ``dumps``. ``xla_trace_dir`` (None) is a
            folder for XLA's own profile of the same time. ``profile_api`` (True) has no effect: there
            is no C API. ``profile_process`` is ``'worker'``, this process.

    Raises:
        AttributeTypeError: an unknown name.
        AttributeValueError: a value of the wrong kind.
    """
    session.set_settings(settings.parse(kwargs))
    _writer.apply()


class _StateError(AttributeValueError, KeyError, mxnet_name="KeyError"):
    """A state that a profile does not have."""

    __str__ = Exception.__str__  # not the quoted key of a KeyError


def set_state(state: str = "stop", profile_process: str = "worker") -> None:
    """Start or stop the profile.

    What was recorded before is run first, so that it counts to the side where it was recorded.

    Args:
        state: ``'run'`` or ``'stop'``.
        profile_process: ``'worker'``, this process.

    Raises:
        KeyError: another state.
        AttributeValueError: another process.
    """
    if state not in ("run", "stop"):
        raise _StateError(f"set_state({state!r}): expected 'run' or 'stop'.")
    settings.check_process("set_state", profile_process)
    session.set_running(state == "run")
    _writer.apply()


def pause(profile_process: str = "worker") -> None:
    """Record nothing until ``resume()``.

    Args:
        profile_process: ``'worker'``, this process.

    Raises:
        AttributeValueError: another process.
    """
    settings.check_process("pause", profile_process)
    session.set_paused(True)


def resume(profile_process: str = "worker") -> None:
    """Continue after ``pause()``.

    Args:
        profile_process: ``'worker'``, this process.

    Raises:
        AttributeValueError: another process.
    """
    settings.check_process("resume", profile_process)
    session.set_paused(False)


def dump(finished: bool = True, profile_process: str = "worker") -> None:
    """Write the profile to the file of ``set_config`` as a Chrome trace.

    Args:
        finished: stop, too; the next ``set_state('run')`` begins a new trace. Else the profile goes
            on and the next dump has more.
        profile_process: ``'worker'``, this process.

    Raises:
        AttributeValueError: another process.
        MXNetError: nothing was profiled since the last trace was finished.
        OSError: the file cannot be written.
    """
    settings.check_process("dump", profile_process)
    if session.finished:
        raise MXNetError("dump: nothing was profiled. Call mx.profiler.set_state('run') first.")
    if finished:
        set_state("stop")
    _writer.write()
    if finished:
        session.finished = True


def dumps(
    reset: bool = False, format: str = "table", sort_by: str = "total", ascending: bool = False
) -> str:
    """The aggregate table, by category and name; empty unless ``aggregate_stats`` was set.

    Work that has not ended yet is not in it: call ``mx.nd.waitall()`` before.

    Args:
        reset: begin a new table after this one.
        format: ``'table'`` or ``'json'``. Times are milliseconds, memory is kilobytes.
        sort_by: ``'total'``, ``'avg'``, ``'min'``, ``'max'`` or ``'count'``.
        ascending: the smallest first.

    Raises:
        CheckError: an argument has another value.
    """
    for name, value, allowed in (
        ("reset", reset, (False, True)),
        ("format", format, ("table", "json")),
        ("sort_by", sort_by, SORT_KEYS),
        ("ascending", ascending, (False, True)),
    ):
        if value not in allowed:
            raise CheckError(
                f"dumps({name}={value!r}): expected one of {', '.join(map(repr, allowed))}."
            )
    if not session.settings.aggregate_stats:
        return ""
    statistics = aggregate(session.rows(table=True), session.happened(table=True))
    if reset:
        session.reset_table()
    return (as_table if format == "table" else as_json)(statistics, sort_by, ascending)


@contextlib.contextmanager
def xla_trace(directory: str) -> Iterator[None]:
    """``with mx.profiler.xla_trace(directory):`` XLA's own profile, down to kernels.

    TensorBoard's profile plugin and Perfetto show it. Names of operators are those of mixnet: each
    runs in a ``jax.named_scope``.

    Args:
        directory: where XLA writes its files.
    """
    wait_for_all()  # what was recorded before is not part of it
    with jax.profiler.trace(directory):
        try:
            yield
        finally:
            wait_for_all()


# ---- older names ------------------------------------------------------------------------------


def profiler_set_config(mode: str = "symbolic", filename: str = "profile.json") -> None:
    """Deprecated: ``set_config(profile_<mode>=True, filename=filename)``.

    Args:
        mode: ``symbolic``, ``imperative``, ``memory``, ``api`` or ``all``.
        filename: where ``dump`` writes.
    """
    _deprecated("profiler_set_config", "set_config")
    set_config(**{f"profile_{mode}": True, "filename": filename})


def profiler_set_state(state: str = "stop") -> None:
    """Deprecated: ``set_state``."""
    _deprecated("profiler_set_state", "set_state")
    set_state(state)


def dump_profile() -> None:
    """Deprecated: ``dump``."""
    _deprecated("dump_profile", "dump")
    dump(True)


def _deprecated(old: str, new: str) -> None:
    text = f"mx.profiler.{old}() is deprecated: call mx.profiler.{new}()."
    warnings.warn(text, stacklevel=3)


# ---- the file ---------------------------------------------------------------------------------


class _Writer:
    """Writes the trace, and while ``continuous_dump`` is set does so again and again."""

    def __init__(self) -> None:
        # Reentrant: a signal handler of the program may save the profile.
        self._lock = locks.renewed(threading.RLock())
        self._starting = locks.renewed(threading.RLock())
        self._stop: threading.Event | None = None

    def write(self) -> None:
        """Write the file. A reader sees the old one or the new one, never a part."""
        with self._lock:  # around the reading, too: an older trace must not replace a newer one
            trace = chrome_trace(session.rows(), session.happened())
            write_whole(session.settings.filename, json.dumps(trace).encode())

    def apply(self) -> None:
        """Start or end the thread that writes, as the session's settings and state say."""
        with self._starting:
            if self._stop is not None:
                self._stop.set()
                self._stop = None
            if session.running and session.settings.continuous_dump:
                self._stop = threading.Event()
                arguments = (self._stop, session.settings.dump_period)
                threading.Thread(
                    target=self._repeat, args=arguments, name="mixnet profiler", daemon=True
                ).start()

    def _repeat(self, stop: threading.Event, period: float) -> None:
        wait = period
        while not stop.wait(wait):
            before = time.perf_counter()
            try:
                self.write()
            except OSError as error:
                warnings.warn(
                    f"mx.profiler: {session.settings.filename!r} cannot be written ({error}); dump() "
                    f"will raise. Name another file with set_config(filename=...).",
                    stacklevel=1,
                )
                return
            # A long trace takes long to write; the profiled program gets most of the time.
            wait = max(period, 10 * (time.perf_counter() - before))


_writer = _Writer()


@atexit.register
def _at_exit() -> None:
    """Write what was profiled and not dumped, as MXNet does."""
    if not session.finished:
        with contextlib.suppress(Exception):  # the engine reports errors of work itself
            wait_for_all()
        dump()


if config.get("MXNET_PROFILER_AUTOSTART"):
    set_state("run")
