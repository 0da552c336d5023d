"""Objects between workers: only those signed with the key of the job are unpickled."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mixnet.distributed.job import JobError
from mixnet.kvstore import job_key
from mixnet.kvstore.objects import ObjectError, Objects
from tests.threads import in_threads


class Meeting:
    """Two workers in threads that exchange bytes; ``change`` can alter a message in transit."""

    def __init__(self, change: Callable[[bytes, int], bytes] = lambda content, rank: content):
        self.change = change
        self.sent: dict[int, bytes] = {}
        self.barrier = threading.Barrier(2)

    def run(self, work: Callable[[World], Any]) -> list[Any]:
        results: dict[int, Any] = {}

        def run_one(rank: int) -> None:
            try:
                results[rank] = work(World(rank, self))
            except Exception as error:
                results[rank] = error

        in_threads(2, run_one)
        return [results[rank] for rank in range(2)]


class World:
    """The attributes of a job that ``Objects`` uses."""

    size = 2

    def __init__(self, rank: int, meeting: Meeting):
        self.rank, self.meeting = rank, meeting

    def gather_bytes(self, content: bytes) -> list[bytes]:
        meeting = self.meeting
        meeting.sent[self.rank] = meeting.change(content, self.rank)
        meeting.barrier.wait(60)
        every = [meeting.sent[rank] for rank in range(2)]
        meeting.barrier.wait(60)
        return every

    def copy_bytes(self, content: bytes, root: int) -> bytes:
        return self.gather_bytes(content)[root]


@pytest.fixture(autouse=True)
def key_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MIXNET_SERVER_FOLDER", str(tmp_path / "keys"))
    monkeypatch.setattr(job_key, "_LATE_SECONDS", 0.1)
    return tmp_path / "keys"


class Trap:
    """Unpickling it makes a file."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def test_objects_reach_all_workers(key_folder: Path) -> None:
    def work(world: World) -> list[Any]:
        objects = Objects(world)  # type: ignore[arg-type]
        mine = {"rank": world.rank, "list": [1.5, None]}
        return [objects.broadcast(mine, 1), objects.gather(world.rank), objects.broadcast("x", 0)]

    first, second = Meeting().run(work)
    assert first == second == [{"rank": 1, "list": [1.5, None]}, [0, 1], "x"]
    assert list(key_folder.iterdir()) == []  # the key is gone once all have it


def test_unsigned_messages_are_not_unpickled(tmp_path: Path) -> None:
    forged = pickle.dumps(Trap(tmp_path / "run"))
    originals: list[bytes] = []

    def change(content: bytes, rank: int) -> bytes:
        if rank == 1 and content.endswith(b"."):  # a pickle
            originals.append(content)
            return content[:32] + b"p" + forged
        return content

    def work(world: World) -> Any:
        return Objects(world).gather("mine")  # type: ignore[arg-type]

    for result in Meeting(change).run(work):
        assert isinstance(result, ObjectError), result
        assert "object of rank 1 is not signed with the key of this job" in str(result)
    assert originals and not (tmp_path / "run").exists()


def test_an_earlier_object_is_not_accepted_again() -> None:
    earlier: list[bytes] = []

    def change(content: bytes, rank: int) -> bytes:
        if rank == 0 and content.endswith(b"."):
            earlier.append(content)
            return earlier[0]
        return content

    def work(world: World) -> Any:
        objects = Objects(world)  # type: ignore[arg-type]
        assert objects.broadcast("first", 0) == "first"
        return objects.broadcast("second", 0)

    own, received = Meeting(change).run(work)
    assert own == "second" and isinstance(received, ObjectError)
    assert len(earlier) == 2


def test_an_object_that_cannot_be_pickled_is_an_error_of_all() -> None:
    def work(world: World) -> Any:
        objects = Objects(world)  # type: ignore[arg-type]
        return objects.gather(threading.Lock() if world.rank == 0 else 1)

    own, other = Meeting().run(work)
    assert isinstance(own, ObjectError) and "This object cannot be sent" in str(own)
    assert isinstance(other, ObjectError) and "The object of rank 0 cannot be sent" in str(other)
    assert "lock" in str(own) and "lock" in str(other)


def test_a_folder_that_is_not_shared_is_an_error_of_all() -> None:
    def change(content: bytes, rank: int) -> bytes:
        return b"/no/such/folder/job.key" if content.endswith(b".key") else content

    def work(world: World) -> Any:
        return Objects(world)  # type: ignore[arg-type]

    for result in Meeting(change).run(work):
        assert isinstance(result, JobError), result
        assert "rank 0: The key of the job" in str(result)
        assert "MIXNET_SERVER_FOLDER" in str(result)
