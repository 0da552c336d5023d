"""Connections between workers and servers, with TLS if the job has certificates."""

from __future__ import annotations

import socket
import struct
from multiprocessing.connection import Connection
from typing import Any, Protocol

from mixnet.distributed.lines import keep_alive
from mixnet.distributed.tls import context, secured

_LENGTH = struct.Struct("!Q")
_HANDSHAKE = 10  # seconds


class Bytes(Protocol):
    """A connection for messages: a part of ``multiprocessing.connection.Connection``."""

    def send_bytes(self, buf: Any, /) -> None:
        """Send a message."""

    def recv_bytes(self, maxlength: int | None = None, /) -> bytes:
        """Wait for a message."""

    def recv_bytes_into(self, buf: Any, /) -> int:
        """Wait for a message, and write it to a buffer of its size."""

    def close(self) -> None:
        """Close the connection."""


class SecureConnection:
    """Messages over TLS, for one thread at a time.

    Args:
        connection: after the handshake.
    """

    def __init__(self, connection: socket.socket):
        self._connection = connection

    def send_bytes(self, content: Any) -> None:
        """Send a message."""
        view = memoryview(content).cast("B")
        self._connection.sendall(_LENGTH.pack(view.nbytes))
        self._connection.sendall(view)

    def recv_bytes(self, maxlength: int | None = None) -> bytes:
        """Wait for a message.

        Raises:
            EOFError: the other end has closed the connection.
            OSError: the message is longer than ``maxlength``.
        """
        size = self._length()
        if maxlength is not None and size > maxlength:
            raise OSError(f"a message of {size} bytes instead of at most {maxlength}")
        content = bytearray(size)
        self._fill(memoryview(content))
        return bytes(content)

    def recv_bytes_into(self, content: Any) -> int:
        """Wait for a message of the size of ``content``, and write it there.

        Raises:
            EOFError: the other end has closed the connection.
            OSError: the message has another size.
        """
        view = memoryview(content).cast("B")
        size = self._length()
        if size != view.nbytes:
            raise OSError(f"a message of {size} bytes instead of {view.nbytes}")
        self._fill(view)
        return size

    def _length(self) -> int:
        head = bytearray(_LENGTH.size)
        self._fill(memoryview(head))
        return int(_LENGTH.unpack(head)[0])

    def _fill(self, view: memoryview) -> None:
        while view.nbytes:
            count = self._connection.recv_into(view)
            if not count:
                raise EOFError
            view = view[count:]

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def to_server(address: tuple[str, int], caller: str, peer: str) -> Bytes:
    """A connection to a server.

    Args:
        address: where it listens.
        caller: this process in error messages.
        peer: the server in error messages.

    Raises:
        JobError: it has no certificate of the job, or no TLS.
        OSError: nobody listens there.
    """
    plain = socket.create_connection(address, 5)
    try:
        keep_alive(plain)
        connection = secured(plain, caller, peer)
    except BaseException:
        plain.close()
        raise
    connection.settimeout(None)
    if connection is plain:
        return Connection(plain.detach())
    return SecureConnection(connection)


def of_worker(accepted: socket.socket) -> Bytes:
    """The server's end of a connection.

    Raises:
        OSError: the other end shows no certificate of the job.
    """
    settings = context(is_server=True)
    keep_alive(accepted)
    if settings is None:
        return Connection(accepted.detach())
    accepted.settimeout(_HANDSHAKE)
    connection = settings.wrap_socket(accepted, server_side=True)
    connection.settimeout(None)
    return SecureConnection(connection)
