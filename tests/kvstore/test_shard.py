"""Servers of asynchronous stores in this process: each command counts once, even if a server is killed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from pathlib import Path

import numpy as np
import pytest

import mixnet as mx
from mixnet.base import MXNetError
from mixnet.distributed.job import JobError, WorkerLostError
from mixnet.distributed.placement import Part, Placement
from mixnet.kvstore import job_key, shard
from mixnet.kvstore.channel import Channel
from mixnet.kvstore.messages import dumps, receive, send, sendable
from mixnet.kvstore.serving import METHODS
from mixnet.kvstore.shard import Rows, Shard


def add(key: object, pushed: mx.nd.NDArray, stored: mx.nd.NDArray) -> None:
    stored += pushed


class Server:
    """A server that can be killed before it executes a command or before it answers."""

    def __init__(self, path: Path):
        self.path, self.shard = path, Shard(path)
        self.calls_left: int | None = None
        self.answers_last = False
        self._clients: list[Connection] = []

    def connect(self) -> Connection:
        if self.shard is None:
            raise ConnectionRefusedError("it was killed")
        ours, theirs = Pipe()
        self._clients.append(ours)
        threading.Thread(target=self.serve, args=(theirs,), daemon=True).start()
        return ours

    def serve(self, connection: Connection) -> None:
        while True:
            try:
                method, arguments = receive(connection)
            except (EOFError, ConnectionResetError):  # which it is where an answer was not read
                return
            assert method in METHODS
            is_killed = False
            if self.calls_left is not None:
                self.calls_left -= 1
                is_killed = self.calls_left < 0
            if is_killed and not self.answers_last:
                return self.die(connection)
            answer = getattr(self.shard, method)(*arguments)
            if is_killed:
                return self.die(connection)
            with suppress(BrokenPipeError):  # who asked has gone: so will the next ``receive``
                send(connection, (True, answer))

    def die(self, connection: Connection) -> None:
        self.calls_left = None
        self.shard = Shard(self.path)  # what was in memory alone is gone
        connection.close()

    def end(self) -> None:
        for each in self._clients:
            each.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    result = Server(tmp_path / "server.sqlite")
    yield result
    result.end()


def channel(server: Server, worker: int = 0, seconds: float = 10) -> Channel:
    client = Channel(worker, "server 0", server.connect, seconds)
    if worker == 0:
        client.do("init", 0, {"w": np.zeros(2, np.float32)})
        client.do("updater", 0, (1, dumps(add)))
    return client


def value(client: Channel) -> list[float]:
    return client.ask("pull", 0, ["w"])[0].tolist()


@pytest.mark.parametrize("answers_last", [False, True])
def test_pushes_count_once_through_kills(
    server: Server, answers_last: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard, "UPDATES", 7)
    workers = [channel(server, i) for i in range(2)]
    server.answers_last = answers_last
    for step in range(60):
        if step in (20, 40):
            server.calls_left = 5
        for each in workers:
            each.do("push", 0, {"w": np.ones(2, np.float32)})
        assert all(each.unsafe <= 14 for each in workers)
    for each in workers:
        each.finish()
    assert server.calls_left is None
    assert value(workers[0]) == [120, 120]


def _session(server: Server) -> dict[str, object]:
    """Two workers push, meet, and one of them saves and loads the states, and pulls rows; what it gets."""
    workers = [Channel(i, "server 0", server.connect, 10) for i in range(2)]
    first, second = workers
    first.do("init", 0, {"w": np.zeros(2, np.float32), "r": np.zeros((4, 2), np.float32)})
    for each in workers:
        each.do("updater", 0, (1, dumps(mx.optimizer.SGD(learning_rate=0.5, momentum=0.5))))
    for _ in range(3):
        for each in workers:
            each.do("push", 0, {"w": np.ones(2, np.float32)})
        rows = Rows(np.array([1, 3]), np.ones((2, 2), np.float32), (4, 2))
        first.do("push", 0, {"r": rows})
    for each in workers:  # a barrier
        each.finish()
    states, optimizer = first.ask("states", 0)
    results = {"rows": first.ask("pull_rows", 0, [("r", np.array([1, 2]))])[0].tolist()}
    first.do("push", 0, {"w": np.ones(2, np.float32)})
    first.do("states", 0, (states, optimizer))  # as they were before the last push
    second.do("push", 0, {"w": np.ones(2, np.float32)})
    for each in workers:
        each.finish()
    after, _ = second.ask("states", 0)
    results |= {"w": value(first), "before": states["w"].tolist(), "after": after["w"].tolist()}
    return results


@pytest.mark.parametrize("answers_last", [False, True])
def test_a_kill_at_every_call(server: Server, answers_last: bool, tmp_path: Path) -> None:
    expected = _session(server)
    calls, is_over = 0, False
    while not is_over:
        killed = Server(tmp_path / f"{calls}.sqlite")
        killed.calls_left, killed.answers_last = calls, answers_last
        assert _session(killed) == expected, f"killed at call {calls}"
        killed.end()
        is_over = killed.calls_left is not None  # it was not killed any more
        calls += 1
    assert calls > 20


def test_a_full_disk_does_not_end_the_writing_of_the_database(server: Server) -> None:
    client = channel(server)
    pragma = server.shard._database.execute
    pragma("PRAGMA max_page_count = 5")
    large = np.ones(100_000, np.float32)
    with pytest.raises(MXNetError, match=r"database .* is full\. Make room.*MIXNET_SERVER_FOLDER"):
        server.shard.do(0, 3, "init", 0, {"large": large})
    pragma("PRAGMA max_page_count = 100000")
    assert client.ask("progress", 0).safe == 2
    client.ask("save")
    server.die(Pipe()[0])
    assert client.ask("progress", 0).safe == 3
    assert (server.shard.pull(0, ["large"])[0] == large).all()


def test_a_database_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(MXNetError, match=f"database {tmp_path} cannot be written: unable to open"):
        Shard(tmp_path)


def test_a_process_that_waits_for_a_server_learns_that_the_job_has_ended(server: Server) -> None:
    lost = WorkerLostError("rank 1 has ended")
    reasons: list[WorkerLostError | None] = [None]
    client = Channel(0, "server 0", server.connect, 60, lambda: reasons[0])
    client.do("init", 0, {"w": np.zeros(2, np.float32)})
    client.close()
    server.shard, reasons[0] = None, lost
    with pytest.raises(WorkerLostError, match="rank 1 has ended"):
        client.ask("process")


def test_a_worker_sees_its_own_pushes_after_a_kill(server: Server) -> None:
    client = channel(server)
    client.do("push", 0, {"w": np.ones(2, np.float32)})
    server.calls_left = 0
    assert value(client) == [1, 1] and client.unsafe == 1


def test_states_are_restored_with_the_values(server: Server) -> None:
    client = Channel(0, "server 0", server.connect, 10)
    client.do("init", 0, {"w": np.ones(2, np.float32)})
    optimizer = mx.optimizer.SGD(learning_rate=0.1, momentum=0.9)
    client.do("updater", 0, (1, dumps(optimizer)))
    client.do("push", 0, {"w": np.ones(2, np.float32)})
    client.do("updater", 0, (1, dumps(optimizer)))  # another worker's: it changes nothing
    client.finish()
    server.calls_left = 0
    client.do("push", 0, {"w": np.ones(2, np.float32)})
    assert np.allclose(value(client), 1 - 0.1 - 0.19)
    states, made_optimizer = client.ask("states", 0)
    assert np.allclose(states["w"], -0.19) and made_optimizer


class Doubling(mx.optimizer.Updater):
    """An updater that doubles gradients."""

    def __call__(self, index: object, grad: mx.nd.NDArray, weight: mx.nd.NDArray) -> None:
        super().__call__(index, 2 * grad, weight)  # type: ignore[arg-type]


def test_an_updater_of_a_custom_class_is_restored_completely(server: Server) -> None:
    client = channel(server)
    rule = mx.optimizer.SGD(learning_rate=1.0, momentum=0.5)
    client.do("updater", 0, (2, dumps(sendable(Doubling(rule)))))
    for _ in range(2):
        client.do("push", 0, {"w": np.ones(2, np.float32)})
    client.ask("save")
    server.shard = Shard(server.path)
    client.do("push", 0, {"w": np.ones(2, np.float32)})
    # Momentum: 2, then 3, then 3.5.
    assert client.ask("pull", 0, ["w"])[0].tolist() == [-8.5, -8.5]


def test_a_push_without_an_updater(server: Server) -> None:
    client = Channel(0, "server 0", server.connect, 10)
    client.do("init", 0, {"w": np.ones(2, np.float32)})
    with pytest.raises(mx.MXNetError, match=r"server 0: Updater needs to be set for async mode"):
        client.do("push", 0, {"w": np.ones(2, np.float32)})
    client.do("updater", 0, (1, dumps(add)))
    client.do("push", 0, {"w": np.ones(2, np.float32)})
    assert value(client) == [2, 2]


def test_an_update_that_fails_is_not_half_done(server: Server) -> None:
    client = channel(server)
    client.do("init", 0, {"v": np.zeros(3, np.float32)})
    wrong = {"w": np.ones(5, np.float32), "v": np.ones(3, np.float32)}
    with pytest.raises(mx.MXNetError, match="server 0"):
        client.do("push", 0, wrong)
    assert value(client) == [0, 0] and client.ask("pull", 0, ["v"])[0].tolist() == [1, 1, 1]


def test_a_push_of_an_unknown_key_leaves_the_database_writable(server: Server) -> None:
    client = channel(server)
    with pytest.raises(MXNetError, match="key b doesn't exist"):
        client.do("push", 0, {"b": np.ones(2, np.float32), "w": np.ones(2, np.float32)})
    client.finish()
    assert value(client) == [1, 1] and client.unsafe == 0


def test_rows_are_pushed_and_pulled(server: Server) -> None:
    client = channel(server)
    first = Rows(np.array([1]), np.ones((1, 2), np.float32), (4, 2))
    client.do("init", 0, {"r": first})
    client.do("push", 0, {"r": Rows(np.array([1, 3]), np.ones((2, 2), np.float32), (4, 2))})
    client.finish()
    server.calls_left = 0
    rows = client.ask("pull_rows", 0, [("r", np.array([0, 1, 3]))])[0]
    assert rows[:, 0].tolist() == [0, 2, 1]


def test_a_server_that_does_not_restart_is_an_error(server: Server) -> None:
    client = channel(server, seconds=0.3)
    server.shard = None
    client.close()
    with pytest.raises(
        WorkerLostError, match=r"server 0 could not be reached for 0.3 s: it was killed"
    ):
        client.do("push", 0, {"w": np.ones(2, np.float32)})
    assert client.is_gone
    server.shard = Shard(server.path)
    with pytest.raises(WorkerLostError, match="server 0 could not be reached"):
        client.finish()  # a second call neither waits nor finds that the server is there again


def test_a_server_of_another_job_is_not_tried_again(server: Server) -> None:
    calls = []

    def connect() -> Pipe:
        calls.append(1)
        raise JobError("does not know the key of this job")

    client = Channel(0, "server 0", connect, 60)
    for work in (lambda: client.do("push", 0, {}), client.finish):
        with pytest.raises(JobError, match="does not know the key"):
            work()
    assert client.is_gone and len(calls) == 1


def test_a_lost_worker_ends_the_pushes_of_the_others(server: Server) -> None:
    reasons: list[WorkerLostError | None] = [None]
    client = Channel(0, "server 0", server.connect, 60, lambda: reasons[0])
    client.do("init", 0, {"w": np.ones(2, np.float32)})
    reasons[0] = WorkerLostError("rank 1 has ended")
    with pytest.raises(WorkerLostError, match="rank 1 has ended"):
        client.do("push", 0, {"w": np.ones(2, np.float32)})
    assert value(client) == [1, 1]  # for a checkpoint


def test_a_server_without_its_database(server: Server, tmp_path: Path) -> None:
    client = channel(server)
    client.close()
    server.shard = Shard(tmp_path / "other.sqlite")
    with pytest.raises(mx.MXNetError, match="server 0 has lost its database"):
        client.do("push", 0, {"w": np.ones(2, np.float32)})


def test_large_values_are_spread_by_rows() -> None:
    client = Placement(3, 1000)
    (small,) = client.place((10, 10), 4)
    assert small == Part(0) and client.loads == [400, 0, 0]
    parts = client.place((10, 100), 4)
    assert [(part.server, part.begin, part.end) for part in parts] == [
        (1, 0, 3),
        (2, 3, 6),
        (0, 6, 10),
    ]
    assert client.loads == [400 + 1600, 1200, 1200]
    assert [part.end for part in client.place((2, 1000), 4)] == [1, 2]
    assert Placement(2, 1).place((), 4) == [Part(0)] and Part(0).of(np.ones(2)).size == 2


def test_servers_have_as_many_bytes_as_each_other() -> None:
    rng = np.random.default_rng(0)
    for count in (1, 2, 3, 7):
        client = Placement(count, 1000)
        shapes = [tuple(map(int, rng.integers(1, 50, rng.integers(0, 3)))) for _ in range(200)]
        placed = [client.place(shape, 4) for shape in shapes]
        rows = [[(part.end or shape[0]) - part.begin if shape else 1 for part in parts]
                for shape, parts in zip(shapes, placed, strict=True)]  # fmt: skip
        assert [sum(each) for each in rows] == [shape[0] if shape else 1 for shape in shapes]
        assert sum(client.loads) == sum(4 * int(np.prod(shape)) for shape in shapes)
        largest = max(4 * int(np.prod(shape)) for shape in shapes)
        assert max(client.loads) - min(client.loads) <= largest
        again = Placement(count, 1000)
        assert [again.place(shape, 4) for shape in shapes] == placed, "the same in all processes"


def test_the_key_of_a_job_must_be_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIXNET_SERVER_FOLDER", str(tmp_path / "own"))
    path = job_key.make()
    assert path.stat().st_mode & 0o777 == 0o600 and len(job_key.read(str(path))) == 64
    path.chmod(0o644)
    with pytest.raises(JobError, match=r"is not a key of a job.*0600"):
        job_key.read(str(path))
    path.chmod(0o600)
    late = threading.Timer(0.3, path.rename, [tmp_path / "late"])
    late.start()  # as on a network disk
    assert len(job_key.read(str(tmp_path / "late"))) == 64
    late.join(10)
    monkeypatch.setattr(job_key, "_LATE_SECONDS", 0.1)
    with pytest.raises(JobError, match=r"cannot be read.*MIXNET_SERVER_FOLDER"):
        job_key.read(str(tmp_path / "none"))


def _nothing() -> Callable[[], None] | None:
    raise AssertionError("unpickled")


class Trap:
    def __reduce__(self) -> tuple:
        return _nothing, ()


def test_nothing_is_unpickled_before_the_key_was_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from multiprocessing import AuthenticationError
    from multiprocessing.connection import Client

    from mixnet.kvstore.serving import Serving

    monkeypatch.setenv("MIXNET_SERVER_FOLDER", str(tmp_path))
    path = job_key.make()
    port = Serving("127.0.0.1").start(str(path), 0)
    with pytest.raises((AuthenticationError, EOFError, OSError)):
        Client(("127.0.0.1", port), authkey=b"another key")
    bare = Client(("127.0.0.1", port))
    bare.recv_bytes()  # the challenge
    bare.send(Trap())
    with pytest.raises((EOFError, OSError)):
        while True:
            bare.recv_bytes()
    good = Client(("127.0.0.1", port), authkey=job_key.read(str(path)))
    send(good, ("progress", (0,)))
    assert receive(good)[1].done == 0
    send(good, ("__class__", ()))
    assert receive(good)[0] is False
    assert "unpickled" not in capfd.readouterr().err
