"""The state of a server of an asynchronous store: values, the optimizer, and the progress of each worker.

All of it is also in a database, in one transaction per fixed number of updates. A server that was killed
restarts from there. Each command of a worker has a number and is applied exactly once: workers store the
commands that are not in the database yet and send them again, and the server ignores those it has.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mixnet.autograd.scope import RecordingScope
from mixnet.base import CheckError, MXNetError
from mixnet.kvstore.local import Key
from mixnet.kvstore.messages import dumps, loads, sendable
from mixnet.ndarray.create import array
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.row_sparse_array import RowSparseNDArray
from mixnet.ndarray.sparse import row_sparse_array
from mixnet.optimizer import Updater, get_updater

UPDATES = 100
"""Updates between two transactions, at most."""

RECEIVED_BYTES = 256 << 20
"""Bytes of gradients between two transactions, at most."""


@dataclass(frozen=True)
class Answer:
    """The reply to a command of a worker.

    Args:
        done: number of the last command of this worker that was executed.
        safe: number of the last one that is in the database.
        error: the error message, empty if there was none.
    """

    done: int
    safe: int
    error: str = ""


@dataclass
class Values:
    """One store's part on this server: whole values, or a part of the rows of large ones.

    Args:
        arrays: by key.
        updater: called with key, gradient and value.
        pickled: the updater, as received.
        turn: how many times it was set.
        decode: of compressed gradients.
    """

    arrays: dict[Key, NDArray] = field(default_factory=dict)
    updater: Callable[[Any, NDArray, NDArray], None] | None = None
    pickled: bytes = b""
    turn: int = 0
    decode: Any = None


class Shard:
    """The memory of one server.

    Args:
        path: of the database, whose content is restored.

    Raises:
        MXNetError: it cannot be read or written.
    """

    def __init__(self, path: Path):
        self._path, self._lock = path, threading.Lock()
        self._stores: dict[int, Values] = {}
        self._done: dict[int, int] = {}  # by worker
        self._safe: dict[int, int] = {}
        self._dirty: dict[tuple[int, Key], None] = {}
        self._updates = self._received = 0
        try:
            self._database = _opened(path)
            self._restore()
        except sqlite3.Error as error:
            raise _database_error(path, error) from error

    # ---- commands of workers ----------------------------------------------------------------------

    def progress(self, worker: int) -> Answer:
        """The progress of a worker's commands."""
        with self._lock:
            return self._answer(worker)

    def do(self, worker: int, number: int, command: str, store: int, content: object) -> Answer:
        """Execute a state-changing command of a worker, exactly once.

        Args:
            worker: rank.
            number: of the command, counted by the worker from 1. One that was done is not done again, and one
                that comes before its time is not done: the answer says which is wanted.
            command: ``init``, ``push``, ``updater``, ``states`` or ``decode``.
            store: number of the store.
            content: the arguments of the method of that name.
        """
        with self._lock:
            done = self._done.get(worker, 0)
            if number != done + 1:
                return self._answer(worker)
            error = ""
            try:
                with RecordingScope(False, None):
                    getattr(self, f"_do_{command}")(self._store(store), store, content)
            except Exception as raised:
                error = str(raised) if isinstance(raised, MXNetError) else repr(raised)
            self._done[worker] = number
            if command != "push" or self._updates >= UPDATES or self._received >= RECEIVED_BYTES:
                self._save()
            return self._answer(worker, error)

    def pull(self, store: int, keys: list[Key]) -> list[np.ndarray]:
        """Values, dense."""
        with self._lock:
            return [self._array(store, key).asnumpy() for key in keys]

    def pull_rows(self, store: int, requests: list[tuple[Key, np.ndarray]]) -> list[np.ndarray]:
        """Rows of values by index; zeros for rows that a row_sparse value does not store."""
        with self._lock, RecordingScope(False, None):
            pulled = []
            for key, rows in requests:
                value = self._array(store, key)
                if isinstance(value, RowSparseNDArray):
                    pulled.append(value._rows_at(rows).asnumpy())
                else:
                    pulled.append(value.asnumpy()[rows])
            return pulled

    def states(self, store: int) -> tuple[dict[Key, Any], bytes]:
        """States of the optimizer by key, and the optimizer itself, pickled."""
        with self._lock:
            values = self._store(store)
            updater = values.updater
            if not isinstance(updater, Updater):
                raise CheckError("Cannot save states: set_optimizer was not called")
            states = {
                key: _to_host(updater.states[key]) for key in values.arrays if key in updater.states
            }
            return states, dumps(updater.optimizer)

    def process(self) -> int:
        """Number of this process on its machine."""
        return os.getpid()

    def save(self) -> None:
        """Write everything to the database now."""
        with self._lock:
            self._save()

    # ---- commands ---------------------------------------------------------------------------------

    def _do_init(self, values: Values, store: int, content: Mapping[Key, Any]) -> None:
        for key, value in content.items():
            if key in values.arrays:
                raise MXNetError(f"duplicate init of key {key}")
            values.arrays[key] = _to_array(value)
            self._dirty[store, key] = None

    def _do_push(self, values: Values, store: int, content: Mapping[Key, Any]) -> None:
        if values.updater is None:
            raise MXNetError(
                "Updater needs to be set for async mode: call set_optimizer or set_updater before the first "
                "push to a store of kind 'dist_async'. To add up gradients without one, use 'dist_sync'."
            )
        error = None
        for key, sent in content.items():
            try:
                stored = self._array(store, key)
                self._dirty[store, key] = None
                gradient = _to_array(sent, values.decode)
                values.updater(key, gradient, stored)
                # One program for each update: batches of pushes would need different programs each time.
                stored.wait_to_read()
            except Exception as raised:  # the other keys are updated
                error = raised
            self._updates += 1
            self._received += _bytes_of(sent)
        if error is not None:
            raise error

    def _do_updater(self, values: Values, store: int, content: tuple[int, bytes]) -> None:
        turn, pickled = content
        if turn > values.turn:  # the first worker that says so; the others say the same
            values.updater, values.pickled, values.turn = self._updater(pickled), pickled, turn

    def _do_command(self, values: Values, store: int, content: tuple[int, Any]) -> None:
        head, body = content
        print(f"mixnet server: unknown command ({head}, {body})", flush=True)

    def _do_decode(self, values: Values, store: int, content: object) -> None:
        values.decode = content

    def _do_states(self, values: Values, store: int, content: tuple[dict[Key, Any], bytes]) -> None:
        states, pickled = content
        if not isinstance(values.updater, Updater):
            raise CheckError("Cannot load states: set_optimizer was not called")
        for key, state in states.items():
            if key in values.arrays:
                self._give_state(values.updater, key, state)
                self._dirty[store, key] = None
        if pickled:
            values.updater.optimizer = loads(pickled)

    def _updater(self, pickled: bytes) -> Callable[[Any, NDArray, NDArray], None]:
        updater = loads(pickled)
        return updater if callable(updater) else get_updater(updater)

    def _store(self, number: int) -> Values:
        return self._stores.setdefault(number, Values())

    def _array(self, store: int, key: Key) -> NDArray:
        array = self._store(store).arrays.get(key)
        if array is None:
            raise MXNetError(f"key {key} doesn't exist. Did you init?")
        return array

    def _answer(self, worker: int, error: str = "") -> Answer:
        return Answer(self._done.get(worker, 0), self._safe.get(worker, 0), error)

    # ---- database ---------------------------------------------------------------------------------

    def _save(self) -> None:
        rows: list[tuple[str, bytes]] = []
        stores = {number for number, _ in self._dirty} | set(self._stores)
        for number, key in self._dirty:
            values = self._stores[number]
            state = None
            if isinstance(values.updater, Updater):
                state = _to_host(values.updater.states.get(key))
            content = (_to_host(values.arrays[key]), state)
            rows.append((f"key {number} {key!r}", dumps((number, key, content))))
        for number in stores:
            values = self._stores[number]
            if isinstance(values.updater, Updater):  # it counts updates
                values.pickled = dumps(sendable(values.updater))
            about = (number, values.pickled, values.turn, values.decode)
            rows.append((f"store {number}", dumps(about)))
        rows.append(("progress", dumps(self._done)))
        try:
            self._write(rows)
        except sqlite3.Error as error:
            raise _database_error(self._path, error) from error
        self._safe = dict(self._done)
        self._dirty.clear()
        self._updates = self._received = 0

    def _write(self, rows: Sequence[tuple[str, bytes]]) -> None:
        database = self._database
        database.execute("BEGIN")
        try:
            database.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?)", rows)
            database.execute("COMMIT")
        except BaseException:  # such as a full disk: the next one starts again
            if database.in_transaction:
                database.execute("ROLLBACK")
            raise

    def _restore(self) -> None:
        read = self._database.execute
        for (content,) in read("SELECT content FROM kept WHERE name LIKE 'store %'"):
            number, pickled, turn, decode = loads(content)
            values = self._store(number)
            values.pickled, values.turn, values.decode = pickled, turn, decode
            if pickled:
                values.updater = self._updater(pickled)
        for (content,) in read("SELECT content FROM kept WHERE name LIKE 'key %'"):
            number, key, (value, state) = loads(content)
            values = self._store(number)
            values.arrays[key] = _to_array(value)
            if isinstance(values.updater, Updater) and state is not None:
                self._give_state(values.updater, key, state)
        for (content,) in read("SELECT content FROM kept WHERE name = 'progress'"):
            self._done = loads(content)
            self._safe = dict(self._done)

    def _give_state(self, updater: Updater, key: Key, state: object) -> None:
        key = key
        updater.states[key], updater.states_synced[key] = _from_host(state), True


def _opened(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
    database.execute("PRAGMA synchronous=NORMAL")
    database.execute("CREATE TABLE IF NOT EXISTS kept (name TEXT PRIMARY KEY, content BLOB)")
    return database


def _database_error(path: Path, error: sqlite3.Error) -> MXNetError:
    return MXNetError(
        f"the database {path} cannot be written: {error}. Make room there, or let "
        f"MIXNET_SERVER_FOLDER name another folder that all machines of the job share."
    )


# ---- arrays on their way --------------------------------------------------------------------------


@dataclass(frozen=True)
class Rows:
    """A row_sparse array in a message.

    Args:
        numbers: indices of the rows.
        data: the rows.
        shape: of the whole.
    """

    numbers: np.ndarray
    data: np.ndarray
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Words:
    """A compressed gradient in a message.

    Args:
        words: the encoded values.
        shape: of the gradient.
        dtype: of the gradient.
    """

    words: np.ndarray
    shape: tuple[int, ...]
    dtype: str


def _to_array(sent: Any, decode: Any = None) -> Any:
    if isinstance(sent, Rows):
        return row_sparse_array(
            (array(sent.data, dtype=sent.data.dtype), sent.numbers),
            shape=sent.shape,
            dtype=sent.data.dtype,
        )
    if isinstance(sent, Words):
        sent = np.asarray(decode.decode(sent.words, sent.shape, sent.dtype))
    return array(sent, dtype=sent.dtype)


def _bytes_of(sent: Any) -> int:
    if isinstance(sent, Rows):
        return int(sent.data.nbytes)
    return int(sent.words.nbytes if isinstance(sent, Words) else sent.nbytes)


def _to_host(value: object) -> Any:
    if isinstance(value, RowSparseNDArray):
        return Rows(value._aux[0].asnumpy(), value._data.asnumpy(), value.shape)
    if isinstance(value, NDArray):
        return value.asnumpy()
    if isinstance(value, (tuple, list)):
        return type(value)(_to_host(each) for each in value)
    return value


def _from_host(value: object) -> Any:
    if isinstance(value, (np.ndarray, Rows)):
        return _to_array(value)
    if isinstance(value, (tuple, list)):
        return type(value)(_from_host(each) for each in value)
    return value
