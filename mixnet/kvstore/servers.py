"""A worker's view of the servers of a job, and the thread that communicates with them."""

from __future__ import annotations

import atexit
import itertools
import os
import queue
import ssl
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing import AuthenticationError
from multiprocessing.connection import answer_challenge, deliver_challenge
from typing import TypeVar

import numpy as np

from mixnet import config
from mixnet.distributed.job import JobError
from mixnet.distributed.member import start_server
from mixnet.distributed.processes import World, world
from mixnet.distributed.tls import HOW, refusal
from mixnet.engine.current import current, whole_or_not_at_all
from mixnet.engine.task import Done
from mixnet.engine.variable import Var
from mixnet.kvstore.channel import Channel
from mixnet.kvstore.job_key import make, read
from mixnet.kvstore.secure_connection import Bytes, to_server
from mixnet.process.handlers import pause

_LONGEST_PATH = 1024


Result = TypeVar("Result")


class Servers:
    """Channels to all servers of the job, which the first store of kind ``dist_async`` has started.

    Raises:
        JobError: they do not respond, or the key of the job cannot be read.
    """

    def __init__(self) -> None:
        self.world: World = world()
        self.stores = itertools.count()  # numbers of stores, the same in all workers
        job = self.world.member.job
        self.count = job.servers or 1
        path = self._path_of_key()
        self._key = read(path)
        if self.world.rank == 0:
            if not job.servers:
                start_server(job)
            self.world.member.want_servers(path)
        seconds = config.get("MIXNET_JOIN_SECONDS")
        self._wait_for_servers(seconds)
        self.channels = [
            Channel(
                self.world.rank,
                f"server {number}",
                partial(self._connect, number),
                seconds,
                lambda: self.world.member.lost,
            )
            for number in range(self.count)
        ]
        self._pool = ThreadPoolExecutor(self.count) if self.count > 1 else None
        self._work: queue.PriorityQueue[tuple[int, int, Callable[[], None]]] = queue.PriorityQueue()
        self._turns = itertools.count()
        self._open, self._counting = 0, threading.RLock()  # tasks that have not ended
        self._idle = threading.Condition(self._counting)
        threading.Thread(target=self._run, name="mixnet servers", daemon=True).start()
        atexit.register(self._finish, os.getpid())

    def _path_of_key(self) -> str:
        path = str(make()).encode() if self.world.rank == 0 else b""
        padded = np.frombuffer(path.ljust(_LONGEST_PATH, b"\0"), np.uint8)
        return bytes(self.world.gather(padded)[0]).rstrip(b"\0").decode()

    def _wait_for_servers(self, seconds: float) -> None:
        member, end = self.world.member, time.monotonic() + seconds
        while missing := [i for i in range(self.count) if i not in member.servers]:
            if member.lost is not None:
                raise member.lost
            if time.monotonic() > end:
                raise JobError(
                    f"After {seconds:g} s server {', '.join(map(str, missing))} of {self.count} "
                    f"had not joined. "
                    f"mixnet-launch -s {self.count} starts them; by hand, start a process for "
                    "each that has DMLC_ROLE=server and imports mixnet. Their output says why they failed."
                )
            pause(0.02)

    def _connect(self, number: int) -> Bytes:
        address = self.world.member.servers[number]
        peer = f"server {number} at {address[0]}:{address[1]}"
        caller = f"rank {self.world.rank}"
        connection = to_server(address, caller, peer)
        try:  # it has the methods of a Connection that the challenges call
            answer_challenge(connection, self._key)  # type: ignore[arg-type]
            deliver_challenge(connection, self._key)  # type: ignore[arg-type]
        except AuthenticationError:
            raise JobError(
                f"{caller}: the process that listens at {address[0]}:{address[1]} in place of server "
                f"{number} does not know the key of this job. MIXNET_SERVER_FOLDER has to name a folder "
                f"that all machines of the job share. Start all processes again."
            ) from None
        except ssl.SSLError as error:
            raise JobError(
                f"{caller}: {peer} refuses our certificate ({refusal(error)}). {HOW}"
            ) from None
        return connection

    # ---- tasks ------------------------------------------------------------------------------------

    def push(
        self,
        work: Callable[[], object],
        reads: Sequence[Var],
        writes: Sequence[Var],
        priority: int,
        name: str,
    ) -> None:
        """Push a task to the server thread; it runs when its variables allow, larger priorities first."""
        ended = threading.Event()

        def run(done: Done) -> None:
            error: BaseException | None = None
            try:
                work()
            except BaseException as raised:
                error = raised
            ended.set()
            done(error)
            with self._counting:
                self._open -= 1
                self._idle.notify_all()

        def start(done: Done) -> None:
            self._work.put((-priority, next(self._turns), partial(run, done)))

        def on_wait(seconds: float) -> None:
            if current.naive:
                ended.wait()

        with whole_or_not_at_all():
            with self._counting:
                self._open += 1
            current.engine.push_async(
                start, reads, writes, "communication", priority, name, on_wait
            )

    def now(self, work: Callable[[], Result], name: str, writes: Iterable[Var] = ()) -> Result:
        """Run a task on the server thread, after earlier tasks with these variables, and wait for it."""
        results: list[Result] = []
        var = Var(name)
        self.push(lambda: results.append(work()), (), (var, *writes), 0, name)
        current.engine.wait_for_var(var)
        return results[0]

    def each(self, work: Callable[[int, Channel], Result], numbers: Sequence[int]) -> list[Result]:
        """The results of ``work`` for some servers, called in parallel. Runs on the server thread.

        Raises:
            Exception: the first error, after all calls have ended.
        """
        if self._pool is None or len(numbers) < 2:
            return [work(number, self.channels[number]) for number in numbers]
        futures = [self._pool.submit(work, number, self.channels[number]) for number in numbers]
        for future in futures:
            future.exception()
        return [future.result() for future in futures]

    def _run(self) -> None:
        while True:
            self._work.get()[2]()

    def _finish(self, owner: int) -> None:
        """At the end of the program, wait until the servers have saved everything in their databases."""
        if os.getpid() != owner:
            return
        try:
            with self._counting:
                self._idle.wait_for(lambda: self._open == 0, config.get("MIXNET_JOIN_SECONDS"))
            if self.world.member.lost is None:
                for channel in self.channels:
                    if not channel.is_gone:  # else an exchange has failed and said so
                        channel.finish()
        except Exception as error:
            sys.excepthook(type(error), error, error.__traceback__)  # for the exit code, too
        for channel in self.channels:
            channel.close()


_servers: list[Servers] = []


def servers() -> Servers:
    """The servers of the job of this process; the first call waits for them.

    Raises:
        JobError: there is no job, or they do not respond.
    """
    if not _servers:
        _servers.append(Servers())
    return _servers[0]
