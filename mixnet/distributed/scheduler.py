"""The scheduler: waits for all processes of a job, reports lost ones, and exits when all have left.

It also hosts JAX's coordination service, through which the processes find each other for exchanges. So no
worker is essential for the job: any of them may exit, and the others are notified.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import sys
from dataclasses import dataclass
from typing import Any

from mixnet import config
from mixnet.distributed.addresses import bind_address, free_port, is_loopback
from mixnet.distributed.agreement import Questions
from mixnet.distributed.deadlocks import Deadlocks
from mixnet.distributed.job import EXIT_NOT_JOINED, STARTED_BY_WORKER, Job, JobError
from mixnet.distributed.lines import LONGEST, keep_alive, packed, quiet, unpacked
from mixnet.distributed.tls import HOW, context, refusal
from mixnet.private_jax.jobs import start_service

HEARTBEAT = 20  # seconds
ANSWER_SECONDS = 15  # in which a worker has to show that it is alive, if others wait for it


@dataclass(eq=False)
class Peer:
    """A process that has connected."""

    role: str
    rank: int | None
    host: str
    pid: int
    versions: str
    address: str
    writer: asyncio.StreamWriter
    has_left: bool = False  # it has done its work, or its end was reported
    is_disconnected: bool = False  # its connection has ended
    owes_answer: bool = False  # to the question whether it is alive

    @property
    def name(self) -> str:
        """Its name in error messages."""
        title = f"{self.role} {self.rank}" if self.role != "worker" else f"rank {self.rank}"
        return f"{title} (process {self.pid} on {self.host})"

    def tell(self, **message: object) -> None:
        """Send a message, if the process is still connected."""
        if not self.writer.is_closing():
            self.writer.write(packed(**message))


class Scheduler:
    """One job's scheduler.

    Args:
        job: in the role of the scheduler.
    """

    def __init__(self, job: Job):
        self.job = job
        self.seconds: float = config.get("MIXNET_JOIN_SECONDS")
        self.workers: dict[int, Peer] = {}
        self.waiting: list[Peer] = []  # workers without a number, until all have registered
        self.servers: list[Peer] = []
        self.has_begun = False
        self.failure = ""
        self._ending: Peer | None = None  # the process that failed, until it has ended
        self._questions: dict[tuple[int, ...], Questions] = {}  # by the ranks of those concerned
        self._deadlocks = Deadlocks(job.workers)
        # For workers that have to show that they are alive.
        self._questioning: set[asyncio.Task[None]] = set()
        self._key = ""  # path of the job's key, when servers are wanted
        self._serving: dict[int, list[Any]] = {}  # address and port of servers
        self._service: Any = None
        self._connections: set[asyncio.StreamWriter] = set()
        self._over = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._tls = context(is_server=True)

    async def serve(self) -> int:
        """Serve until all workers have left; returns the exit code of the process.

        Raises:
            JobError: the port is in use, or the address does not belong to this machine.
        """
        address = bind_address(self.job.root)
        try:
            server = await asyncio.start_server(self._call, address, self.job.port, limit=LONGEST)
        except OSError as error:
            raise JobError(
                f"The scheduler cannot listen on {address or '*'}:{self.job.port}: {error.strerror}. Is "
                f"another job using the port? Set another DMLC_PS_ROOT_PORT for all processes."
            ) from None
        if STARTED_BY_WORKER in os.environ:  # that worker may have ended meanwhile
            self._start_timer()
        await self._over.wait()
        for each in self.servers:
            each.tell(end=self.failure)
        await asyncio.sleep(0.2)  # the last message is being delivered
        server.close()
        for writer in self._connections:
            writer.close()
        await asyncio.sleep(0)
        if not self.failure:
            return 0
        return 1 if self.has_begun else EXIT_NOT_JOINED

    async def _call(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = None
        self._connections.add(writer)
        try:
            keep_alive(writer.get_extra_info("socket"))
            if self._tls is not None:
                await self._secure(writer, self._tls)
            hello = unpacked(await asyncio.wait_for(reader.readline(), 10)).get("hello")
            if not isinstance(hello, dict):
                return  # not a process of this job
            peer = Peer(
                str(hello.get("role")),
                hello.get("rank") if isinstance(hello.get("rank"), int) else None,
                str(hello.get("host")),
                int(hello.get("pid", 0)),
                str(hello.get("versions")),
                str(hello.get("address") or writer.get_extra_info("peername")[0]),
                writer,
            )
            self._greet(peer)
            while line := await reader.readline():
                self._hear(peer, unpacked(line))
        except (TimeoutError, OSError, ValueError, KeyError, TypeError):
            pass  # the connection has ended, or sent an invalid message
        except asyncio.CancelledError:
            # Once the job is over, TLS is still closing it, and asyncio would print a traceback.
            if not self._over.is_set():
                raise
        finally:
            if peer is not None:
                self._close(peer)
            self._connections.discard(writer)
            writer.close()

    def _hear(self, peer: Peer, message: dict[str, Any]) -> None:
        """Act on a message of a process.

        Raises:
            KeyError, TypeError, ValueError: the message is not valid.
        """
        if "failed" in message:
            self._lose(peer, str(message["failed"]))
        elif "unreachable" in message:
            rank, reason = message["unreachable"]
            text = f"cannot be reached any more from {peer.name}: {reason}"
            self._lose(self.workers[rank], text, is_silent=True)
        elif "left" in message:
            self._leave(peer)
        elif "serve" in message:
            self._start_serving(str(message["serve"]))
        elif "serving" in message and peer in self.servers and peer.rank is not None:
            self._serving[peer.rank] = [peer.address, int(message["serving"])]
            self._tell_workers({"servers": self._serving})
        elif "ask" in message and peer.rank is not None:
            self._answer(peer.rank, message)
        elif "waits" in message and peer.rank is not None:
            self._examine(peer.rank, message["waits"])
        elif "alive" in message:
            peer.owes_answer = False

    async def _secure(self, writer: asyncio.StreamWriter, settings: ssl.SSLContext) -> None:
        try:
            await writer.start_tls(settings, ssl_handshake_timeout=10)
        except OSError as error:  # as errors of TLS are
            address = writer.get_extra_info("peername")[0]
            print(
                f"mixnet scheduler: refused a connection from {address}, which shows no certificate of this "
                f"job ({refusal(error)}). {HOW}",
                file=sys.stderr,
                flush=True,
            )
            raise

    # ---- the roll -------------------------------------------------------------------------------

    def _greet(self, peer: Peer) -> None:
        if peer.role == "server":
            ranks = {each.rank for each in self.servers}
            if peer.rank is None or peer.rank in ranks:  # one that was started again has its number
                peer.rank = next(i for i in range(len(ranks) + 1) if i not in ranks)
            self.servers.append(peer)
            if self._key:
                peer.tell(serve={"key": self._key, "number": peer.rank})
            return
        refusal = self._reason_to_refuse(peer)
        if refusal:
            peer.has_left = True
            peer.tell(refused=refusal)
            if not self.has_begun:
                self._refuse_all(refusal)
            return
        if peer.rank is None:
            self.waiting.append(peer)
        else:
            self.workers[peer.rank] = peer
        if self._timer is None:
            self._start_timer()
        if len(self.workers) + len(self.waiting) == self.job.workers:
            self._begin()

    def _start_timer(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self.seconds, self._give_up)

    def _reason_to_refuse(self, peer: Peer) -> str:
        job = self.job
        if self.has_begun:
            return (
                f"The job of {job.workers} workers has begun without {peer.name}. Start all workers again, "
                f"from the last checkpoint."
            )
        if peer.rank is not None and peer.rank in self.workers:
            return (
                f"Two workers have the number {peer.rank}: {self.workers[peer.rank].name} and {peer.name}. "
                f"Give each another DMLC_WORKER_ID, or, if they are of two jobs, each job another "
                f"DMLC_PS_ROOT_PORT."
            )
        if peer.rank is not None and not 0 <= peer.rank < job.workers:
            return (
                f"{peer.name} has no place in a job of {job.workers} workers, numbered 0 to "
                f"{job.workers - 1}. Set another DMLC_WORKER_ID, or a larger DMLC_NUM_WORKER."
            )
        for other in (*self.workers.values(), *self.waiting):
            if other.versions != peer.versions:
                return (
                    f"{peer.name} runs {peer.versions}, {other.name} runs {other.versions}. Install the same "
                    f"versions on all machines."
                )
        return ""

    def _begin(self) -> None:
        numbers = (i for i in range(self.job.workers) if i not in self.workers)
        for peer, number in zip(self.waiting, numbers, strict=True):
            peer.rank = number
            self.workers[number] = peer
        assert self._timer is not None
        self._timer.cancel()
        lonely = self._lonely()
        if lonely:
            return self._refuse_all(lonely)
        self.has_begun = True
        port = self._start_service()
        for number, peer in self.workers.items():
            peer.tell(
                begin={
                    "rank": number,
                    "port": port,
                    "peers": [self.workers[i].name for i in range(self.job.workers)],
                }
            )

    def _lonely(self) -> str:
        """Workers whose address the others cannot reach."""
        local = [peer for peer in self.workers.values() if is_loopback(peer.address)]
        if local and len(local) < self.job.workers:
            other = next(peer for peer in self.workers.values() if peer not in local)
            return (
                f"{local[0].name} would wait for the others at {local[0].address}, where {other.name} at "
                f"{other.address} cannot reach it: its machine resolves DMLC_PS_ROOT_URI={self.job.root} to "
                f"itself. Give the address of the network there, or name the network interface, "
                f"DMLC_INTERFACE=eth0."
            )
        return ""

    def _start_service(self) -> int:
        address = bind_address(self.job.root) or "[::]"
        port = free_port(bind_address(self.job.root))
        with quiet(2):
            self._service = start_service(
                f"{address}:{port}", self.job.workers, HEARTBEAT, int(self.seconds) + 1
            )
        return port

    def _give_up(self) -> None:
        present = [f"rank {', '.join(map(str, sorted(self.workers)))}"] if self.workers else []
        present += [
            f"process {peer.pid} on {peer.host}" for peer in self.waiting
        ]  # without a number
        missing = [i for i in range(self.job.workers) if i not in self.workers]
        text = f"rank {', '.join(map(str, missing))}"
        if self.waiting:
            text = f"{len(missing) - len(self.waiting)} of {self.job.workers} workers"
        self._refuse_all(
            f"After {self.seconds:g} s {text} had not come; of {self.job.workers} workers "
            f"{', '.join(present) or 'none'} had. Look at what the missing ones printed; if they only need "
            f"longer to start, set MIXNET_JOIN_SECONDS."
        )

    def _refuse_all(self, reason: str) -> None:
        for peer in (*self.workers.values(), *self.waiting):
            peer.has_left = True
            peer.tell(refused=reason)
        self._fail(reason)

    # ---- the end --------------------------------------------------------------------------------

    def _fail(self, reason: str) -> None:
        if not self.failure:
            self.failure = reason
            print(f"mixnet scheduler: {reason}", file=sys.stderr, flush=True)
        if not self.has_begun:
            self._over.set()

    def _lose(self, peer: Peer, reason: str, is_silent: bool = False) -> None:
        """A worker or server has failed: notify the others, which wait for its end unless it is silent."""
        if self.failure:
            return
        self._ending = None if peer.is_disconnected or is_silent else peer
        lost = {"name": peer.name, "reason": reason, "runs": self._ending is peer}
        self._tell_others(peer, lost=lost)
        self._fail(f"{peer.name} {reason}.")

    def _start_serving(self, key: str) -> None:
        """A worker needs servers: send the path of the job's key to all present and future servers."""
        if not self._key:
            self._key = key
            for server in self.servers:
                server.tell(serve={"key": key, "number": server.rank})

    def _answer(self, rank: int, message: dict[str, Any]) -> None:
        """Answer a question about exchanges of all workers, or of a part of them."""
        part = message.get("part")
        ranks = tuple(part) if part is not None else tuple(range(self.job.workers))
        if rank not in ranks:
            return
        questions = self._questions.setdefault((*ranks, part is None), Questions(len(ranks)))
        answer = questions.ask(rank, message["ask"])
        for each in ranks if answer else ():
            self.workers[each].tell(**answer, **({} if part is None else {"part": part}))

    def _examine(self, rank: int, message: dict[str, Any]) -> None:
        """A worker has waited long in an exchange: find out whether the others can still reach it.

        Raises:
            KeyError, TypeError, ValueError: the message is not valid.
        """
        circle = self._deadlocks.add(rank, message)
        if circle:
            self._tell_workers({"deadlock": circle})
            return
        for other in message["ranks"] or self.workers:
            peer = self.workers[other]
            if other != rank and not peer.owes_answer and not peer.has_left:
                peer.owes_answer = True
                peer.tell(alive=True)
                task = asyncio.get_running_loop().create_task(self._await_answer(peer))
                self._questioning.add(task)
                task.add_done_callback(self._questioning.discard)

    async def _await_answer(self, peer: Peer) -> None:
        """Give a worker some seconds to answer, which a thread of its own does, whatever it computes."""
        # Not one long pause: the whole job may be stopped for a while.
        for _ in range(ANSWER_SECONDS):
            await asyncio.sleep(1)
            if not peer.owes_answer or peer.is_disconnected:
                return
        self._lose(
            peer,
            f"has not answered for {ANSWER_SECONDS} s, while others wait for it: it has been stopped, as by "
            "Ctrl-Z or a debugger, or its machine hangs",
            is_silent=True,
        )

    def _tell_workers(self, message: dict[str, Any]) -> None:
        for worker in self.workers.values() if message else ():
            worker.tell(**message)

    def _tell_others(self, peer: Peer, **message: object) -> None:
        for other in self.workers.values():
            if other is not peer:
                other.tell(**message)

    def _leave(self, peer: Peer) -> None:
        peer.has_left = True
        self._tell_others(peer, left=peer.rank)

    def _close(self, peer: Peer) -> None:
        """A connection was closed, so its process has exited."""
        peer.is_disconnected = True
        if peer is self._ending:
            self._tell_others(peer, ended=True)
        if peer.role != "worker":
            self.servers = [each for each in self.servers if each is not peer]
            return
        if not self.has_begun:
            self.workers = {i: each for i, each in self.workers.items() if each is not peer}
            self.waiting = [each for each in self.waiting if each is not peer]
            return
        if not peer.has_left:
            peer.has_left = True
            self._lose(peer, "has ended")
        # Not earlier: JAX aborts processes whose coordination service ends.
        if all(each.is_disconnected for each in self.workers.values()):
            self._over.set()


def run_scheduler(job: Job) -> int:
    """Serve a job; returns the exit code of the process."""
    return asyncio.run(_serve(job))


async def _serve(job: Job) -> int:
    return await Scheduler(job).serve()
