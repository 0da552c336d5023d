"""The server process: accepts authenticated workers and executes their commands."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from contextlib import suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import answer_challenge, deliver_challenge
from pathlib import Path
from typing import Any, NoReturn

from mixnet.distributed.job import Job
from mixnet.distributed.member import Member
from mixnet.distributed.roles import run_and_exit
from mixnet.kvstore.job_key import read
from mixnet.kvstore.messages import receive, send
from mixnet.kvstore.secure_connection import of_worker
from mixnet.kvstore.shard import Shard

METHODS = ("do", "process", "progress", "pull", "pull_rows", "save", "states")

_RETRY_SECONDS = 0.1
"""Pause after a failure to accept: the connection stays in the queue, so the next try may fail at once."""


class Serving:
    """One server.

    Args:
        address: to listen on.
    """

    def __init__(self, address: str):
        self._address = address
        self.files: list[Path] = []  # the job's key and the database

    def start(self, key: str, number: int) -> int:
        """Start listening.

        Args:
            key: path of the job's key.
            number: of the server; with the key it names the database.

        Returns:
            the port.
        """
        secret = read(key)
        database = Path(key).with_suffix(f".server-{number}.sqlite")
        os.close(os.open(database, os.O_CREAT | os.O_RDWR, 0o600))
        shard = Shard(database)
        self.files = [Path(key), database]
        listener = socket.create_server((self._address, 0), backlog=128)
        threading.Thread(target=self._accept, args=(listener, shard, secret), daemon=True).start()
        return int(listener.getsockname()[1])

    def _accept(self, listener: socket.socket, shard: Shard, secret: bytes) -> None:
        reported: set[str] = set()
        while True:
            accepted = None
            try:
                accepted, _ = listener.accept()
                threading.Thread(target=_serve, args=(accepted, shard, secret), daemon=True).start()
            except (OSError, RuntimeError) as error:  # too many open files or threads, say
                if accepted is not None:
                    accepted.close()
                if str(error) not in reported:
                    reported.add(str(error))
                    print(
                        f"mixnet server: cannot accept a connection, will try again: {error}",
                        file=sys.stderr,
                        flush=True,
                    )
                time.sleep(_RETRY_SECONDS)


def _serve(accepted: socket.socket, shard: Shard, secret: bytes) -> None:
    close = accepted.close
    try:
        connection = of_worker(accepted)
        close = connection.close
        # Nothing is unpickled before both ends know each other.
        deliver_challenge(connection, secret)  # type: ignore[arg-type]
        answer_challenge(connection, secret)  # type: ignore[arg-type]
    except (AuthenticationError, EOFError, OSError, AssertionError) as error:
        print(f"mixnet server: refused a connection: {error}", file=sys.stderr, flush=True)
        close()
        return
    with suppress(EOFError, OSError):
        while True:
            method, arguments = receive(connection)
            answer: tuple[bool, Any]
            try:
                if method not in METHODS:
                    raise ValueError(f"there is no method {method}")
                answer = True, getattr(shard, method)(*arguments)
            except Exception as error:
                answer = False, str(error)
            send(connection, answer)


def serve() -> NoReturn:
    """Serve, then end the process."""
    run_and_exit("server", _run)


def _run(job: Job) -> int:
    member = Member(job)
    serving = Serving(member.address)
    is_well = member.wait_for_end(serving.start)
    for path in serving.files:  # nobody else needs them: all who start again are a new job
        path.unlink(missing_ok=True)
    return 0 if is_well else 1


if __name__ == "__main__":
    serve()
