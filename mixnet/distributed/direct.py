"""Direct connections between the processes of a job: messages take a fraction of an XLA program's time.

A program that exchanges a kilobyte wakes threads of XLA and of gloo in each process, one after the
other. Here the thread that has the bytes sends them itself, and reads those of the others. Long messages
are sent so only between processes of one machine, through shared memory.
"""

from __future__ import annotations

import contextlib
import hmac
import secrets
import socket
import time
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from mixnet.distributed.awaited import READABLE, WRITABLE, Awaited, Steps
from mixnet.distributed.lines import keep_alive
from mixnet.distributed.shared_memory import CHUNK_BYTES, Gather, SharedMemory, share
from mixnet.runtime.value.value import aligned_empty

_MOST_PROCESSES = 32  # of a job with a connection between any two
_MOST_BYTES_OF_TWO = 4 << 20  # between two processes, an all-reduce sends as many bytes
_MOST_BYTES_OF_MANY = 1 << 16  # that one process sends, if there are more
_LEAST_SHARED_BYTES = 1 << 16  # of a message that goes through shared memory
_MOST_SHARING = 8  # processes that send messages of any length so: each reads those of all others
_ADDRESS_BYTES, _PORT_BYTES, _KEY_BYTES, _RANK_BYTES = 46, 2, 16, 2
_GREETING_SECONDS = 5.0

_WRITTEN = np.ones(1, np.uint8)


class PeerError(ConnectionError):
    """The connection to another process is broken.

    Args:
        rank: of the process.
        reason: why.
    """

    def __init__(self, rank: int, reason: str | None):
        super().__init__(reason or "the connection is broken")
        self.rank = rank


class Direct:
    """One connection from this process to each of the others. One thread at a time uses it.

    Args:
        connections: by rank of the other process.
        rank: of this process.
        memory: shared with the others, if all are on one machine.
    """

    def __init__(
        self,
        connections: Mapping[int, socket.socket],
        rank: int,
        memory: SharedMemory | None = None,
    ):
        self._connections, self._rank, self._memory = dict(connections), rank, memory
        self._size = len(connections) + 1
        for each in connections.values():
            keep_alive(each)
            each.setblocking(False)

    def carries(self, nbytes: int, dtype: np.dtype) -> bool:
        """Whether a message is exchanged faster here; the answer is the same in all processes."""
        if dtype.kind not in "iuf":
            return False
        if self._goes_through_memory(nbytes):
            return self._size <= _MOST_SHARING or nbytes <= CHUNK_BYTES
        most = _MOST_BYTES_OF_TWO if self._size == 2 else _MOST_BYTES_OF_MANY // (self._size - 1)
        return nbytes <= most

    def _goes_through_memory(self, nbytes: int) -> bool:
        return self._memory is not None and nbytes >= _LEAST_SHARED_BYTES

    def gather(self, array: np.ndarray) -> Steps[np.ndarray]:
        """The arrays of all processes, concatenated in the order of ranks.

        Args:
            array: flat, of the same length and dtype in all processes.

        Raises:
            OSError: a connection is broken.
        """
        rows = aligned_empty((self._size, array.size), array.dtype)
        if self._goes_through_memory(array.nbytes):
            for place in _chunks(array):
                for rank, row in enumerate((yield from self._written(array[place]))):
                    rows[rank, place] = row
            return rows.reshape(-1)
        rows[self._rank] = array
        yield from self._exchange(array, {other: rows[other] for other in self._connections})
        return rows.reshape(-1)

    def sum(self, array: np.ndarray) -> Steps[np.ndarray]:
        """The sum of the arrays of all processes, added in the order of ranks: the same bits in all of them.

        Args:
            array: flat, of the same length and dtype in all processes.

        Raises:
            OSError: a connection is broken.
        """
        if self._goes_through_memory(array.nbytes):
            total = aligned_empty(array.shape, array.dtype)
            for place in _chunks(array):
                _add((yield from self._written(array[place])), total[place])
            return total
        rows = {other: aligned_empty(array.shape, array.dtype) for other in self._connections}
        yield from self._exchange(array, rows)
        total = rows[1] if self._rank == 0 else rows[0]  # its memory is used again
        rows[self._rank] = array
        _add([rows[rank] for rank in range(self._size)], total)
        return total

    def _written(self, array: np.ndarray) -> Steps[list[np.ndarray]]:
        """The arrays of all processes, in their shared memory; valid until the next but one are written."""
        memory = self._memory
        assert memory is not None
        memory.write(array)
        marks = {other: np.empty(1, np.uint8) for other in self._connections}
        yield from self._exchange(_WRITTEN, marks)
        return [
            array if rank == self._rank else memory.message(rank, array)
            for rank in range(self._size)
        ]

    def _exchange(self, mine: np.ndarray, theirs: Mapping[int, np.ndarray]) -> Steps[None]:
        """Send an array to all others, and fill the arrays with what they send."""
        content = mine.view(np.uint8).data
        unsent = dict.fromkeys(theirs, content)
        missing = {other: each.view(np.uint8).data for other, each in theirs.items()}
        while True:
            for other, rest in list(unsent.items()):
                _advance(unsent, other, self._sent(other, rest))
            for other, rest in list(missing.items()):
                _advance(missing, other, self._received(other, rest))
            if not unsent and not missing:
                return
            yield self._awaited(unsent, missing)

    def _sent(self, other: int, content: memoryview) -> int:
        try:
            return self._connections[other].send(content)
        except BlockingIOError:
            return 0
        except OSError as error:
            raise PeerError(other, error.strerror) from error

    def _received(self, other: int, space: memoryview) -> int:
        try:
            count = self._connections[other].recv_into(space)
        except BlockingIOError:
            return 0
        except OSError as error:
            raise PeerError(other, error.strerror) from error
        if not count:
            raise PeerError(other, "it closed the connection")
        return count

    def _awaited(
        self, unsent: Mapping[int, memoryview], missing: Mapping[int, memoryview]
    ) -> Awaited:
        """The events after which more bytes can be sent or received."""
        return {
            self._connections[other].fileno(): (WRITABLE if other in unsent else 0)
            | (READABLE if other in missing else 0)
            for other in {**unsent, **missing}
        }

    def close(self) -> None:
        """Close the connections."""
        for each in self._connections.values():
            each.close()


def _add(rows: Sequence[np.ndarray], total: np.ndarray) -> None:
    """Write the sum of at least two rows to ``total``, which may be the first or the second row."""
    with np.errstate(all="ignore"):  # an overflow is part of the sum, as in XLA's
        np.add(rows[0], rows[1], out=total)
        for row in rows[2:]:
            np.add(total, row, out=total)


def _chunks(array: np.ndarray) -> Iterator[slice]:
    """The parts of a flat array that are written to shared memory one after another."""
    step = CHUNK_BYTES // array.itemsize
    return (slice(start, start + step) for start in range(0, array.size, step))


def _advance(parts: dict[int, memoryview], other: int, count: int) -> None:
    """Continue after the first bytes of a part."""
    if count == len(parts[other]):
        del parts[other]
    elif count:
        parts[other] = parts[other][count:]


def connect(rank: int, size: int, address: str, seconds: float, gather: Gather) -> Direct | None:
    """Connect all processes of a job, which call this at the same time; None if some of them cannot.

    Args:
        rank: of this process.
        size: number of processes.
        address: of the network interface on which this process listens for the others.
        seconds: to wait for the others.
        gather: gets an array of bytes, and returns those of all processes in the order of ranks.
    """
    if not 1 < size <= _MOST_PROCESSES:
        return None
    key = secrets.token_bytes(_KEY_BYTES)
    listener = _listener(address, size)
    port = 0 if listener is None else listener.getsockname()[1]
    introduction = address.encode().ljust(_ADDRESS_BYTES, b"\0") + port.to_bytes(_PORT_BYTES) + key
    rows = gather(np.frombuffer(introduction, np.uint8)).reshape(size, -1)
    connections: dict[int, socket.socket] = {}
    try:
        if listener is not None:
            with listener, contextlib.suppress(OSError):
                for other in range(rank):
                    connections[other] = _greeted(rows[other].tobytes(), rank, seconds)
                _accept(listener, key, range(rank + 1, size), connections, seconds)
    finally:
        is_whole = len(connections) == size - 1
        is_whole = bool(gather(np.array([is_whole], np.uint8)).all())
    if is_whole:
        addresses = {row[:_ADDRESS_BYTES].tobytes() for row in rows}
        return Direct(connections, rank, share(rank, size, gather) if len(addresses) == 1 else None)
    for each in connections.values():
        each.close()
    return None


def _listener(address: str, size: int) -> socket.socket | None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        return socket.create_server((address, 0), family=family, backlog=size)
    except OSError:
        return None


def _greeted(introduction: bytes, rank: int, seconds: float) -> socket.socket:
    """A connection to a process that has introduced itself.

    Raises:
        OSError: it cannot be reached.
    """
    address, rest = introduction[:_ADDRESS_BYTES], introduction[_ADDRESS_BYTES:]
    port, key = int.from_bytes(rest[:_PORT_BYTES]), rest[_PORT_BYTES:]
    connection = socket.create_connection((address.rstrip(b"\0").decode(), port), seconds)
    connection.sendall(key + rank.to_bytes(_RANK_BYTES))
    return connection


def _accept(
    listener: socket.socket,
    key: bytes,
    expected: range,
    connections: dict[int, socket.socket],
    seconds: float,
) -> None:
    """Accept the processes that know the key and reject others.

    Raises:
        OSError: not all have connected in time.
    """
    end = time.monotonic() + seconds
    while not all(other in connections for other in expected):
        listener.settimeout(max(0.01, end - time.monotonic()))
        connection = listener.accept()[0]
        other = _greeting(connection, key)
        if other is not None and other in expected and other not in connections:
            connections[other] = connection
        else:
            connection.close()


def _greeting(connection: socket.socket, key: bytes) -> int | None:
    """The rank of the process at the other end; None if it does not know the key."""
    content, end = b"", time.monotonic() + _GREETING_SECONDS
    with contextlib.suppress(OSError):
        while len(content) < _KEY_BYTES + _RANK_BYTES:
            connection.settimeout(max(0.01, end - time.monotonic()))
            part = connection.recv(_KEY_BYTES + _RANK_BYTES - len(content))
            if not part:
                return None
            content += part
    if not hmac.compare_digest(content[:_KEY_BYTES], key):
        return None
    return int.from_bytes(content[_KEY_BYTES:])
