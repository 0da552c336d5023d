"""Messages between workers and servers: Python objects over mutually authenticated connections.

The connections are those of Python's ``multiprocessing.connection``: each end proves that it knows the key of
the job before anything is unpickled. Arrays are sent as raw memory after the pickle.
"""

from __future__ import annotations

import pickle
from typing import Any

from mixnet.kvstore.secure_connection import Bytes
from mixnet.optimizer import Updater
from mixnet.process.overridden import Methods


def dumps(content: object) -> bytes:
    """Pickle optimizers and updaters, including user functions if cloudpickle is installed.

    Raises:
        PicklingError, AttributeError, TypeError: something in it cannot be pickled.
    """
    try:
        import cloudpickle
    except ImportError:
        return pickle.dumps(content, protocol=5)
    pickled: bytes = cloudpickle.dumps(content, protocol=5)
    return pickled


_CALL = Methods(Updater, "__call__")


def sendable(updater: Any) -> Any:
    """The object with which a server updates as an updater does: its optimizer, or the whole updater if its
    class calls the optimizer in its own way.
    """
    is_plain = isinstance(updater, Updater) and _CALL.are_those_of(updater)
    return updater.optimizer if is_plain else updater


def loads(content: bytes) -> Any:
    """Unpickle the output of ``dumps``. This may run arbitrary code: use it only for authenticated peers."""
    return pickle.loads(content)


def send(connection: Bytes, message: object) -> None:
    """Send an object; its arrays are not copied."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
    views = [buffer.raw() for buffer in buffers]
    connection.send_bytes(pickle.dumps((head, [view.nbytes for view in views])))
    for view in views:
        if view.nbytes:
            connection.send_bytes(view)


def receive(connection: Bytes) -> Any:
    """Wait for an object.

    Raises:
        EOFError, OSError: the other end has closed the connection.
    """
    head, sizes = pickle.loads(connection.recv_bytes())
    buffers = []
    for size in sizes:
        buffer = bytearray(size)
        if size:
            connection.recv_bytes_into(buffer)
        buffers.append(buffer)
    return pickle.loads(head, buffers=buffers)
