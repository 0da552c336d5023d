"""The protocol of the scheduler: one JSON object per line, over a connection that stays open.

A closed connection shows immediately that a process has exited, for whatever reason.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

LONGEST = 1 << 16  # bytes of a line


def packed(**message: object) -> bytes:
    """A message as a line."""
    return json.dumps(message).encode() + b"\n"


def unpacked(line: bytes) -> dict[str, Any]:
    """The message of a line; an empty one if the line is not valid."""
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}


def keep_alive(connection: socket.socket) -> None:
    """Detect within about 15 seconds that the other end is unreachable."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", 5),
        ("TCP_KEEPINTVL", 2),
        ("TCP_KEEPCNT", 5),
        ("TCP_USER_TIMEOUT", 15_000),
    ):
        if hasattr(socket, name):  # Linux
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def flush_output() -> None:
    """Write what Python has buffered of the program's output, unless that is closed or nobody reads it."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            if stream is not None:
                stream.flush()


@contextmanager
def quiet(number: int) -> Iterator[None]:
    """Discard what C++ libraries print to stdout or stderr; with ``PS_VERBOSE``, redirect it to stderr.

    Args:
        number: of the file descriptor, 1 or 2.
    """
    if (sys.__stdout__, sys.__stderr__)[number - 1] is None:
        yield  # it was closed when the program started: the number may be that of another file
        return
    flush_output()
    verbose = os.environ.get("PS_VERBOSE", "0") not in ("", "0")
    target = os.dup(2) if verbose else os.open(os.devnull, os.O_WRONLY)
    duplicate = os.dup(number)
    os.dup2(target, number)
    try:
        yield
    finally:
        os.dup2(duplicate, number)
        os.close(duplicate)
        os.close(target)
