"""Direct connections between processes, here between threads, and whose turn it is to exchange."""

from __future__ import annotations

import errno
import itertools
import os
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from mixnet.distributed import shared_memory
from mixnet.distributed.awaited import READABLE, WITHOUT_LIMIT, Steps, Watch
from mixnet.distributed.direct import Direct, PeerError, connect
from mixnet.distributed.turns import Turn, Turns, finished
from tests.waiting import join


def nothing() -> None:
    """No process is lost."""


class Meeting:
    """Gathers the arrays of some threads, as the first exchange of a job does."""

    def __init__(self, count: int):
        self._barrier = threading.Barrier(count)
        self._rows: dict[int, np.ndarray] = {}

    def gather(self, rank: int, data: np.ndarray) -> np.ndarray:
        self._rows[rank] = data
        self._barrier.wait(20)
        whole: np.ndarray = np.concatenate([self._rows[each] for each in sorted(self._rows)])
        self._barrier.wait(20)
        return whole


def together(count: int, work: Callable[[int], Any]) -> list[Any]:
    with ThreadPoolExecutor(count) as threads:
        return [each.result(60) for each in [threads.submit(work, i) for i in range(count)]]


def connected(count: int, addresses: dict[int, str] | None = None) -> list[Direct | None]:
    meeting = Meeting(count)

    def join(rank: int) -> Direct | None:
        address = (addresses or {}).get(rank, "127.0.0.1")
        return connect(rank, count, address, 2, lambda data: meeting.gather(rank, data))

    return together(count, join)


@pytest.fixture(params=[2, 3, 5])
def ends(request: pytest.FixtureRequest) -> Iterator[list[Direct]]:
    connections = connected(request.param)
    assert all(connections)
    yield connections  # type: ignore[misc]
    for each in connections:
        each.close()  # type: ignore[union-attr]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "uint8", "int64"])
@pytest.mark.parametrize("length", [1, 16, 1000])
def test_sums_and_gathered_arrays(ends: list[Direct], dtype: str, length: int) -> None:
    random = np.random.default_rng(0)
    parts = [(random.normal(size=length) * 100).astype(dtype) for _ in ends]
    expected = parts[0]
    for part in parts[1:]:
        expected = expected + part  # in the order of ranks
    for _ in range(3):  # the connections stay in step
        results = together(len(ends), lambda i: finished(ends[i].sum(parts[i]), nothing))
        for result in results:
            assert result.dtype == dtype and result.tobytes() == expected.tobytes()
        for rows in together(len(ends), lambda i: finished(ends[i].gather(parts[i]), nothing)):
            assert rows.tobytes() == np.concatenate(parts).tobytes()
    assert ends[0].carries(parts[0].nbytes, parts[0].dtype)


def test_messages_that_are_longer_than_what_the_kernel_buffers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shared_memory, "_DIRECTORY", "/proc/none")  # as on two machines
    both: Any = connected(2)
    parts = [np.full(1 << 20, i + 0.5, np.float32) for i in range(2)]
    for total in together(2, lambda i: finished(both[i].sum(parts[i]), nothing)):
        assert (total == 2).all()
    kind = np.dtype(np.float32)
    assert both[0].carries(4 << 20, kind) and not both[0].carries((4 << 20) + 1, kind)


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="needs Linux's /dev/shm")
@pytest.mark.parametrize("dtype", ["float32", "float16", "int64"])
@pytest.mark.parametrize("length", [1 << 16, 1_000_003])
def test_long_messages_through_shared_memory(
    ends: list[Direct], dtype: str, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [(np.arange(length) % 100 + i).astype(dtype) for i in range(len(ends))]
    assert ends[0].carries(parts[0].nbytes, parts[0].dtype)
    sent: list[int] = []
    send = Direct._sent

    def noted(self: Direct, other: int, content: memoryview) -> int:
        sent.append(len(content))
        return send(self, other, content)

    monkeypatch.setattr(Direct, "_sent", noted)
    expected, rows = np.sum(parts, axis=0, dtype=dtype), np.concatenate(parts)
    for _ in range(3):
        for total in together(len(ends), lambda i: finished(ends[i].sum(parts[i]), nothing)):
            assert total.dtype == dtype and total.tobytes() == expected.tobytes()
        for each in together(len(ends), lambda i: finished(ends[i].gather(parts[i]), nothing)):
            assert each.tobytes() == rows.tobytes()
        for part in (*parts, expected):  # in the next turn the memory has something else
            part += 1
        expected += len(ends) - 1
        rows = np.concatenate(parts)
    assert set(sent) == {1}  # the connections only tell that it is there


def test_files_of_shared_memory_have_no_name_left() -> None:
    before = set(os.listdir("/dev/shm"))
    assert all(connected(2))
    assert not {name for name in os.listdir("/dev/shm") if "mixnet" in name} - before


def test_addresses_of_two_machines_share_no_memory() -> None:
    both: Any = connected(2, {0: "127.0.0.1", 1: "127.0.0.2"})
    assert [each._memory for each in both] == [None, None]


def test_one_process_without_shared_memory_leaves_all_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failing = iter([True, False, False])
    reserve = os.posix_fallocate

    def allocate(file: int, start: int, length: int) -> None:
        if next(failing):
            raise OSError(errno.ENOSPC, "No space left on device")
        reserve(file, start, length)

    monkeypatch.setattr(os, "posix_fallocate", allocate)
    three: Any = connected(3)
    assert [each._memory for each in three] == [None] * 3
    parts = [np.full(1 << 17, i, np.float32) for i in range(3)]
    for total in together(3, lambda i: finished(three[i].sum(parts[i]), nothing)):
        assert (total == 3).all()


def test_a_process_that_cannot_listen_leaves_all_without_direct_connections() -> None:
    assert connected(3, {1: "203.0.113.1"}) == [None] * 3  # of no interface of this machine


def test_unknown_connections_are_closed() -> None:
    meeting, ports = Meeting(2), list[socket.socket]()

    def gather(rank: int, data: np.ndarray) -> np.ndarray:
        rows = meeting.gather(rank, data)
        if rank == 1 and not ports:  # before the other process connects
            port = int.from_bytes(rows[46:48].tobytes())
            for greeting in (b"?" * 18, b""):
                stranger = socket.create_connection(("127.0.0.1", port))
                stranger.sendall(greeting)
                stranger.shutdown(socket.SHUT_WR)
                ports.append(stranger)
        return rows

    both = together(2, lambda i: connect(i, 2, "127.0.0.1", 5, lambda data: gather(i, data)))
    assert all(both)
    for stranger in ports:
        assert stranger.recv(1) == b""
        stranger.close()
    for total in together(2, lambda i: finished(both[i].sum(np.ones(4)), nothing)):
        assert total.tolist() == [2] * 4


def test_a_closed_connection_is_an_error() -> None:
    both: Any = connected(2)
    both[1].close()
    with pytest.raises(PeerError) as broken:
        for _ in range(2):  # the first message may still be taken by the kernel
            finished(both[0].sum(np.ones(4)), nothing)
    assert broken.value.rank == 1


def test_a_waiting_process_checks_for_lost_peers() -> None:
    both: Any = connected(2)

    def check() -> None:
        raise LookupError("rank 1 is lost")

    with pytest.raises(LookupError, match="rank 1 is lost"):
        finished(both[0].sum(np.ones(4)), check)


# ---- turns ---------------------------------------------------------------------------------------


class Exchange:
    """Steps that record their thread and wait until a byte has arrived."""

    def __init__(self, waits_without_limit: bool = False, is_short: bool = False):
        self.near, self.far = socket.socketpair()
        self.near.setblocking(False)
        self.threads: list[str] = []
        self.results: list[BaseException | None] = []
        self._is_slow = waits_without_limit
        self.turn = Turn(self._steps(), nothing, is_short)
        self.turn.done = self.results.append

    def _steps(self) -> Steps[None]:
        self.threads.append(threading.current_thread().name)
        if self._is_slow:
            yield WITHOUT_LIMIT
        while True:
            try:
                content = self.near.recv(1)
                break
            except BlockingIOError:
                yield {self.near.fileno(): READABLE}
        self.threads.append(threading.current_thread().name)
        if content == b"!":
            raise ValueError("exclamation")


def ended(turn: Turn) -> bool:
    """Whether a turn ends within 20 seconds."""
    return turn.wait(20)


THREAD = "mixnet exchanges"


def me() -> str:
    """Name of this thread."""
    return threading.current_thread().name


def test_the_thread_that_needs_a_result_runs_the_exchange() -> None:
    exchange = Exchange()
    exchange.far.send(b".")
    turns = Turns()
    turns.run_now(exchange.turn)
    assert exchange.threads == [me()] * 2 and exchange.results == [None]
    turns.run_now(exchange.turn)  # it has ended
    assert ended(exchange.turn) and exchange.results == [None]


@pytest.mark.parametrize("waits_without_limit", [False, True])
@pytest.mark.parametrize("is_short", [False, True])
def test_a_long_wait_continues_in_the_exchange_thread(
    waits_without_limit: bool, is_short: bool
) -> None:
    exchange, begin = Exchange(waits_without_limit, is_short), time.monotonic()
    turns = Turns()
    if is_short:
        turns.put(exchange.turn)  # this thread begins it
        assert exchange.threads[0] == me()
    else:
        turns._turn = exchange.turn
    turns.run_now(exchange.turn)
    assert time.monotonic() - begin < 20 and not exchange.results
    exchange.far.send(b".")
    assert ended(exchange.turn)
    assert exchange.threads[-1] == THREAD and exchange.results == [None]


def test_the_result_of_a_long_send_may_be_ignored() -> None:
    exchange, turns = Exchange(), Turns()
    turns.put(exchange.turn)
    exchange.far.send(b".")
    assert ended(exchange.turn) and exchange.threads == [THREAD, THREAD]


def test_a_short_message_is_received_without_another_thread() -> None:
    exchange, turns = Exchange(is_short=True), Turns()
    exchange.far.send(b".")
    turns.put(exchange.turn)
    assert exchange.threads == [me()] * 2 and exchange.results == [None]


def test_the_end_of_one_turn_leads_to_the_next_without_recursion() -> None:
    exchanges = [Exchange(is_short=True) for _ in range(300)]
    turns, depths = Turns(), []

    def chain(exchange: Exchange, following: Exchange) -> None:
        def done(error: BaseException | None) -> None:
            depths.append(len(traceback.extract_stack()))
            exchange.results.append(error)
            turns.put(following.turn)

        exchange.turn.done = done

    for exchange, following in itertools.pairwise(exchanges):
        chain(exchange, following)
    for exchange in exchanges:
        exchange.far.send(b".")
    turns.put(exchanges[0].turn)
    assert all(each.results == [None] for each in exchanges)
    assert max(depths) == min(depths)
    for exchange in exchanges:
        exchange.near.close()
        exchange.far.close()


def test_an_exchange_with_a_silent_peer_ends_when_a_process_is_lost() -> None:
    exchange, lost = Exchange(is_short=True), LookupError("rank 1 is lost")

    def check() -> None:
        raise lost

    exchange.turn._check = check
    Turns().put(exchange.turn)
    assert ended(exchange.turn) and exchange.results == [lost]


def test_an_exchange_continues_without_a_wake_up() -> None:
    exchange, turns = Exchange(is_short=True), Turns()
    turns.put(exchange.turn)
    turns._watch.end()  # as a process that shares the watch since a fork might do
    exchange.far.send(b".")
    assert ended(exchange.turn) and exchange.results == [None]


def test_only_one_thread_runs_an_exchange() -> None:
    exchange = Exchange()
    threads = [threading.Thread(target=exchange.turn.run, args=(20,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    exchange.far.send(b".")
    join(*threads)
    assert len(exchange.threads) == 2 and exchange.results == [None]


def test_an_error_belongs_to_the_exchange() -> None:
    exchange = Exchange()
    exchange.far.send(b"!")
    Turns().run_now(exchange.turn)
    (error,) = exchange.results
    assert isinstance(error, ValueError) and str(error) == "exclamation"


def test_a_watch_is_woken_by_its_sockets_and_limits() -> None:
    watch, lock, (near, far) = Watch(), threading.Lock(), socket.socketpair()
    assert not watch.wait(0)
    with lock:
        watch.begin({near.fileno(): READABLE})
    assert not watch.wait(0)
    far.send(b".")
    assert watch.wait(20)
    with lock:
        watch.end()
    assert not watch.wait(0)  # although the byte is still there
    with lock:
        watch.begin({near.fileno(): READABLE})
    assert watch.wait(20)
    with lock:
        watch.begin(WITHOUT_LIMIT)
    assert watch.wait(20)
