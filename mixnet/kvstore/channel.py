"""A worker's connection to one server; each command is applied exactly once, even if the server is killed."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from mixnet.base import MXNetError
from mixnet.distributed.job import JobError, WorkerLostError
from mixnet.kvstore.messages import receive, send
from mixnet.kvstore.secure_connection import Bytes
from mixnet.kvstore.shard import Answer

_LOST = (OSError, EOFError)
_PAUSE = 0.1  # seconds between two tries


class Channel:
    """Sends commands to one server, one after another; for one thread at a time.

    A command is stored until it is in the server's database. If the server lost it, it is sent again.

    Args:
        worker: rank of this process.
        name: of the server in error messages.
        connect: opens a connection to the server at its current address.
        seconds: how long a server may be unreachable.
        lost: why the job cannot go on, if it cannot: then nothing is sent, and nobody waits for a server.
    """

    def __init__(
        self,
        worker: int,
        name: str,
        connect: Callable[[], Bytes],
        seconds: float,
        lost: Callable[[], MXNetError | None] = lambda: None,
    ) -> None:
        self._worker, self._name, self._connect = worker, name, connect
        self._seconds, self._lost = seconds, lost
        self._connection: Bytes | None = None
        self._count = self._done = 0
        self._error = ""  # of the last command
        self._failure: WorkerLostError | JobError | None = None
        self._unconfirmed: deque[tuple[int, tuple[Any, ...]]] = deque()

    @property
    def unsafe(self) -> int:
        """The number of commands that are not in the server's database yet."""
        return len(self._unconfirmed)

    @property
    def is_gone(self) -> bool:
        """Whether the server was unreachable for too long, or is not of this job: it is not tried again."""
        return self._failure is not None

    def do(self, command: str, store: int, content: object) -> None:
        """Execute a command on the server, exactly once.

        Raises:
            MXNetError: the server could not execute it.
            WorkerLostError: the server was unreachable for too long, or a worker is lost. What the server
                has can still be asked for.
        """
        if (reason := self._lost()) is not None:
            raise reason
        self._count += 1
        self._unconfirmed.append((self._count, (command, store, content)))
        self._error = ""
        self._persist(self._catch_up)
        if self._error:
            raise MXNetError(f"{self._name}: {self._error}")

    def ask(self, method: str, *arguments: object) -> Any:
        """Call a read-only method of the server, after all earlier commands.

        Raises:
            MXNetError: what it raised.
            WorkerLostError: the server was unreachable for too long.
        """
        answers: list[Any] = []

        def work() -> None:
            self._catch_up()
            answers.append(self._call(method, *arguments))

        self._persist(work)
        return answers[0]

    def finish(self) -> None:
        """Wait until all commands are in the server's database.

        Raises:
            WorkerLostError: the server was unreachable for too long.
        """
        while self._unconfirmed:
            self.ask("save")
            self._note(self.ask("progress", self._worker))

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _catch_up(self) -> None:
        """Send commands that the server has not executed: the last one, and those lost by a killed server."""
        while self._unconfirmed and self._unconfirmed[-1][0] > self._done:
            first = self._unconfirmed[0][0]
            if first > self._done + 1:
                raise MXNetError(
                    f"{self._name} has lost its database: it has {self._done} commands of rank "
                    f"{self._worker}, and had stored {first - 1}. Start all processes again from "
                    "the last checkpoint."
                )
            number, arguments = self._unconfirmed[self._done + 1 - first]
            answer = self._call("do", self._worker, number, *arguments)
            if number == self._count and answer.done == number:
                self._error = answer.error
            self._note(answer)

    def _note(self, answer: Answer) -> None:
        self._done = answer.done
        while self._unconfirmed and self._unconfirmed[0][0] <= answer.safe:
            self._unconfirmed.popleft()

    def _call(self, method: str, *arguments: object) -> Any:
        assert self._connection is not None
        send(self._connection, (method, arguments))
        is_well, answer = receive(self._connection)
        if not is_well:
            raise MXNetError(f"{self._name}: {answer}")
        return answer

    def _persist(self, work: Callable[[], None]) -> None:
        """Perform an action on the server; retry on a new connection if one was lost."""
        if self._failure is not None:
            raise self._failure
        end = None
        while True:
            try:
                if self._connection is None:
                    self._connection = self._connect()
                    self._note(self._call("progress", self._worker))
                return work()
            except JobError as error:
                self._failure = error
                raise
            except _LOST as error:
                with suppress(OSError):
                    self.close()
                self._connection = None
                end = end or time.monotonic() + self._seconds
                if (reason := self._lost()) is not None:
                    raise reason from None
                if time.monotonic() > end:
                    self._failure = WorkerLostError(
                        f"{self._name} could not be reached for {self._seconds:g} s: "
                        f"{error or 'it has ended'}. Look "
                        f"at what it printed, and start all processes again from the last checkpoint. "
                        f"mixnet-launch restarts servers that are killed."
                    )
                    raise self._failure from None
                time.sleep(_PAUSE)
