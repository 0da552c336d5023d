"""The scheduler registers, watches and releases processes, for which sockets stand in."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from mixnet.distributed import Job
from mixnet.distributed.addresses import bind_address
from mixnet.distributed.job import EXIT_NOT_JOINED
from mixnet.distributed.lines import packed
from mixnet.distributed.scheduler import Scheduler

pytestmark = pytest.mark.usefixtures("no_running_loop")


class Caller:
    """One end of a connection to the scheduler."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        self.reader, self.writer = reader, writer

    def say(self, **message: Any) -> None:
        """Send a message."""
        self.writer.write(json.dumps(message).encode() + b"\n")

    async def hear(self) -> dict:
        """The next message."""
        return json.loads(await asyncio.wait_for(self.reader.readline(), 10))

    def end(self) -> None:
        """Close the connection, as the end of a process does."""
        self.writer.close()


Call = Callable[..., Awaitable[Caller]]


def with_scheduler(
    workers: int, talk: Callable[[Call], Awaitable[None]], seconds: float = 30
) -> int:
    """The scheduler's exit code after a conversation with it."""
    callers = []  # a connection ends when it is not referenced

    async def go(port: int) -> int:
        scheduler = Scheduler(Job(workers, "127.0.0.1", port, role="scheduler"))
        scheduler.seconds = seconds
        scheduler._start_service = lambda: 4711  # type: ignore[method-assign]
        serving = asyncio.create_task(scheduler.serve())

        async def call(rank: int | None, **more: Any) -> Caller:
            caller = Caller(*await _connected(port, serving))
            hello = {
                "role": "worker",
                "rank": rank,
                "host": f"h{rank}",
                "pid": 7,
                "versions": "v1",
                **more,
            }
            caller.say(hello=hello)
            callers.append(caller)
            await asyncio.sleep(0.02)
            return caller

        await talk(call)
        code = await asyncio.wait_for(serving, 10)
        for each in callers:
            each.end()
        return code

    with _reserved_port() as port:
        return asyncio.run(go(port))


@contextlib.contextmanager
def _reserved_port() -> Iterator[int]:
    """A port of this machine that the kernel gives to no other socket."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # asyncio's servers set it too
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


async def _connected(
    port: int, serving: asyncio.Task[int]
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to the scheduler, once it listens."""
    while True:
        try:
            return await asyncio.open_connection("127.0.0.1", port)
        except ConnectionRefusedError:
            if serving.done():
                raise AssertionError("the scheduler has ended") from serving.exception()
            await asyncio.sleep(0.01)


def test_a_job_that_ends_well() -> None:
    async def talk(call: Call) -> None:
        workers = [await call(1), await call(None), await call(None)]
        begun = [(await each.hear())["begin"] for each in workers]
        assert [each["rank"] for each in begun] == [1, 0, 2]  # numbers for those that had none
        assert begun[0]["port"] == 4711 and begun[0]["peers"][1] == "rank 1 (process 7 on h1)"
        workers[0].say(left=True)
        assert await workers[1].hear() == {"left": 1}
        workers[0].end()
        for each in workers[1:]:
            each.say(left=True)
            each.end()

    assert with_scheduler(3, talk) == 0


def test_a_lost_process_is_reported_immediately(capfd: pytest.CaptureFixture) -> None:
    async def talk(call: Call) -> None:
        workers = [await call(i) for i in range(3)]
        server = await call(None, role="server")
        for each in workers:
            await each.hear()
        workers[1].end()  # as if killed
        for each in (workers[0], workers[2]):
            lost = (await each.hear())["lost"]
            assert lost == {
                "name": "rank 1 (process 7 on h1)",
                "reason": "has ended",
                "runs": False,
            }
            each.say(failed="failed: because of rank 1")  # reported once
            each.end()
        assert "rank 1 (process 7 on h1) has ended" in (await server.hear())["end"]

    assert with_scheduler(3, talk) == 1
    errors = capfd.readouterr().err
    assert errors.count("mixnet scheduler:") == 1 and "rank 1 (process 7 on h1) has ended" in errors


def test_reasons_of_failed_workers_travel() -> None:
    async def talk(call: Call) -> None:
        workers = [await call(i) for i in range(2)]
        for each in workers:
            await each.hear()
        workers[0].say(failed="failed: ValueError: bad data")
        lost = (await workers[1].hear())["lost"]
        assert lost["reason"] == "failed: ValueError: bad data" and lost["runs"]
        workers[0].end()
        assert await workers[1].hear() == {"ended": True}
        workers[1].end()

    assert with_scheduler(2, talk) == 1


def test_a_worker_that_another_one_cannot_reach_is_lost(capfd: pytest.CaptureFixture) -> None:
    async def talk(call: Call) -> None:
        workers = [await call(i) for i in range(3)]
        for each in workers:
            await each.hear()
        workers[0].say(unreachable=[1, "Connection timed out"])
        for each in (workers[0], workers[2]):
            lost = (await each.hear())["lost"]
            assert lost["name"] == "rank 1 (process 7 on h1)" and not lost["runs"]
        for each in workers:
            each.end()

    assert with_scheduler(3, talk) == 1
    # Which the launcher reads.
    assert capfd.readouterr().err == (
        "mixnet scheduler: rank 1 (process 7 on h1) cannot be reached any more from rank 0 "
        "(process 7 on h0): Connection timed out.\n"
    )


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        ({"rank": 0}, {"rank": 0}, "Two workers have the number 0"),
        ({"rank": 0}, {"rank": 5}, "has no place in a job of 2 workers"),
        ({"rank": 0}, {"rank": 1, "versions": "v2"}, "runs v2, rank 0 (process 7 on h0) runs v1"),
    ],
)
def test_unauthorized_processes_are_refused(first: dict, second: dict, text: str) -> None:
    async def talk(call: Call) -> None:
        callers = [await call(**first), await call(**second)]
        for each in callers:  # both get the message
            assert text in (await each.hear())["refused"]

    assert with_scheduler(2, talk) == EXIT_NOT_JOINED


def test_an_address_that_only_its_own_machine_reaches() -> None:
    """As where /etc/hosts gives the machine's own name the address 127.0.1.1."""

    async def talk(call: Call) -> None:
        workers = [await call(0, address="127.0.1.1"), await call(1, address="10.0.0.7")]
        for each in workers:
            refused = (await each.hear())["refused"]
            assert "rank 0 (process 7 on h0) would wait for the others at 127.0.1.1" in refused
            assert "DMLC_INTERFACE=eth0" in refused

    assert with_scheduler(2, talk) == EXIT_NOT_JOINED


def test_processes_that_never_connect_are_named() -> None:
    async def talk(call: Call) -> None:
        worker = await call(1)
        assert "rank 0, 2 had not come; of 3 workers rank 1 had" in (await worker.hear())["refused"]

    assert with_scheduler(3, talk, seconds=1) == EXIT_NOT_JOINED


def test_workers_without_a_number_are_named_by_their_process() -> None:
    async def talk(call: Call) -> None:
        await call(1)
        worker = await call(None, host="node")
        text = "1 of 3 workers had not come; of 3 workers rank 1, process 7 on node had. Look"
        assert text in (await worker.hear())["refused"]

    assert with_scheduler(3, talk, seconds=1) == EXIT_NOT_JOINED


def test_late_and_foreign_connections_do_not_disturb_the_job() -> None:
    async def talk(call: Call) -> None:
        worker = await call(0)
        await worker.hear()
        stranger = await call(0)  # came too late
        assert "has begun without" in (await stranger.hear())["refused"]
        for text in (
            b"GET / HTTP/1.1\n\n",
            b"[1, 2]\n",
            b'{"hello": 3}\n',
            b"\xff\xfe\n",
            b"x" * 100_000,
        ):
            port = worker.writer.get_extra_info("peername")[1]
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(text)
            with contextlib.suppress(ConnectionResetError):
                assert await asyncio.wait_for(reader.read(), 10) == b""  # closed, and nothing else
            writer.close()
        worker.say(left=True)
        worker.end()

    assert with_scheduler(1, talk) == 0


def test_the_scheduler_listens_on_the_configured_interface() -> None:
    assert bind_address("127.0.0.1") == "127.0.0.1" == bind_address("localhost")
    assert bind_address("192.0.2.7") == ""  # not of this machine: on all of its addresses


def test_a_connection_that_is_closed_late_ends_without_a_traceback() -> None:
    """With TLS, closing takes time: asyncio cancels the task and prints a traceback if that raises."""

    async def cancelled(is_over: bool) -> bool:
        scheduler = Scheduler(Job(1, "127.0.0.1", 9, role="scheduler"))
        with socket.create_server(("127.0.0.1", 0)) as server:
            client = socket.create_connection(server.getsockname())
            accepted, _ = server.accept()
        with client:
            task = asyncio.create_task(
                scheduler._call(*await asyncio.open_connection(sock=accepted))
            )
            client.sendall(packed(hello={"role": "server", "rank": 0}))
            while not scheduler.servers:
                await asyncio.sleep(0.01)
            if is_over:
                scheduler._over.set()
            task.cancel()
            await asyncio.wait([task])
        return task.cancelled()

    assert [asyncio.run(cancelled(each)) for each in (True, False)] == [False, True]
