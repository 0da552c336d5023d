"""TLS with certificates on both ends, for a job's scheduler and servers: ``MIXNET_TLS_*``."""

from __future__ import annotations

import os
import select
import socket
import ssl
import stat
import threading
import time

from mixnet import config
from mixnet.distributed.job import JobError
from mixnet.process.handlers import only_waits
from mixnet.process.interrupt import Deferred

SETTINGS = ("MIXNET_TLS_CERT", "MIXNET_TLS_KEY", "MIXNET_TLS_CA")
_MOST_AT_ONCE = 1 << 16
HOW = (
    f"{', '.join(SETTINGS)} have to name a certificate, its key and the certificate of the authority "
    "that signed all of them, in all processes of the job or in none."
)


def context(is_server: bool) -> ssl.SSLContext | None:
    """The TLS settings for connections of this process; None if no certificates are set.

    Both ends have to show a certificate that the job's own authority has signed. Names in it do not
    matter: every process that has one belongs to the job.

    Args:
        is_server: whether this process listens.

    Raises:
        JobError: one of the three settings is missing, or a file cannot be used.
    """
    cert, key = config.get("MIXNET_TLS_CERT"), config.get("MIXNET_TLS_KEY")
    authority = config.get("MIXNET_TLS_CA")
    files = (cert, key, authority)
    if not any(files):
        return None
    missing = [name for name, file in zip(SETTINGS, files, strict=True) if not file]
    if missing:
        raise JobError(f"{', '.join(missing)} is not set. {HOW}")
    settings = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if is_server else ssl.PROTOCOL_TLS_CLIENT)
    settings.check_hostname = False
    settings.verify_mode = ssl.CERT_REQUIRED
    settings.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        if stat.S_IMODE(os.stat(key).st_mode) & 0o077:
            raise JobError(
                f"MIXNET_TLS_KEY={key}: other users can read this key; run chmod 600 on it."
            )
        settings.load_verify_locations(authority)
        settings.load_cert_chain(cert, key)
    except ssl.SSLError as error:
        reason = error.reason or str(error)
        raise JobError(
            f"The files are not a certificate, its key and a CA ({reason}). {HOW}"
        ) from None
    except OSError as error:
        raise JobError(f"{error.filename or cert}: {error.strerror}. {HOW}") from None
    return settings


def secured(connection: socket.socket, caller: str, peer: str) -> socket.socket:
    """The connection of a client, with TLS if certificates are set.

    Args:
        connection: just made, with a timeout.
        caller: this process in error messages.
        peer: the other end in error messages.

    Raises:
        JobError: the other end has no certificate of the job, or no TLS.
    """
    settings = context(is_server=False)
    if settings is None:
        return connection
    try:
        return settings.wrap_socket(connection)
    except ssl.SSLCertVerificationError as error:
        reason = f"its certificate is not of this job: {error.verify_message}"
    except (ssl.SSLError, OSError) as error:
        reason = f"it does not speak TLS, or refuses our certificate: {refusal(error)}"
    connection.close()
    raise JobError(f"{caller} cannot trust {peer}: {reason}. {HOW}")


def refusal(error: Exception) -> str:
    """An error of a connection in a few words."""
    return str(getattr(error, "reason", None) or error or type(error).__name__)


class Wire:
    """A connection, with or without TLS, on which one thread reads lines and others send.

    OpenSSL's connections are for one thread at a time: a lock guards each call, and no thread waits for the
    network while it holds a lock. All content to send is in one buffer; one of the threads that wait
    until theirs is sent empties it.

    Args:
        connection: to the other end.
    """

    def __init__(self, connection: socket.socket):
        self._connection = connection
        self._connection.setblocking(False)
        self._using, self._lock = threading.Lock(), threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._rest = b""
        self._unsent = bytearray()
        self._queued = self._sent = 0  # bytes so far
        self._is_sending = False  # whether a thread empties the buffer

    def readline(self, seconds: float | None = None) -> bytes:
        """The next line; empty at the end of the connection.

        Args:
            seconds: to wait for it.

        Raises:
            OSError: the connection is broken, or the time is over.
        """
        end = None if seconds is None else time.monotonic() + seconds
        while b"\n" not in self._rest:
            content = self._received()
            if content is None:
                self._wait_for_data(end)
            elif not content:
                line, self._rest = self._rest, b""
                return line
            else:
                self._rest += content
        line, _, self._rest = self._rest.partition(b"\n")
        return line + b"\n"

    def _received(self) -> bytes | None:
        try:
            with self._using:
                return self._connection.recv(1 << 16)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return None

    def send(self, content: bytes) -> None:
        """Send all of it, after the data of other threads; after Ctrl-C the next call sends the rest.

        Raises:
            OSError: the connection is broken.
        """
        sends = False  # whether this thread empties the buffer
        try:
            with self._lock:
                self._unsent.extend(content)
                self._queued += len(content)
                end = self._queued
                while self._is_sending and self._sent < end:
                    self._changed.wait()
                if self._sent >= end:
                    return
                self._is_sending = sends = True
            while self._sent < end:
                if not self._send_some():
                    _poll(self._connection, select.POLLOUT).poll()
        finally:
            if sends:
                with self._lock:
                    self._is_sending = False
                    self._changed.notify_all()

    def _send_some(self) -> bool:
        """Send what can be sent without waiting; returns whether that is anything."""
        with Deferred(), self._using:  # sent bytes leave the buffer even if an error occurs
            try:
                count = self._connection.send(bytes(self._unsent[:_MOST_AT_ONCE]))
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return False
            del self._unsent[:count]
            self._sent += count
        return True

    @only_waits  # whoever waits to send does not: a handler that sends, too, would wait for itself
    def _wait_for_data(self, end: float | None) -> None:
        left = None if end is None else 1000 * max(0.0, end - time.monotonic())
        if not _poll(self._connection, select.POLLIN).poll(left):
            raise TimeoutError("no data arrived in time")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _poll(connection: socket.socket, event: int) -> select.poll:
    ready = select.poll()
    ready.register(connection, event)
    return ready
