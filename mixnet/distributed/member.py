"""A process as a member of a job: it joins, learns which processes are lost, and leaves."""

from __future__ import annotations

import contextlib
import os
import platform
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from importlib import metadata
from typing import Any

from mixnet import config
from mixnet.base import MXNetError
from mixnet.distributed.agreement import Agreement, DisagreementError
from mixnet.distributed.deadlocks import explained, waiting
from mixnet.distributed.job import STARTED_BY_WORKER, Job, JobError, WorkerLostError
from mixnet.distributed.lines import keep_alive, packed, unpacked
from mixnet.distributed.tls import HOW, Wire, refusal, secured
from mixnet.libinfo import _PACKAGE_VERSION
from mixnet.process.handlers import pause

_NOTICED = 0.3  # seconds within which the launcher of a process notices its end
_NO_PROXY = "no_grpc_proxy"


class Member:
    """This process as a member of its job; creating it joins the job.

    Args:
        job: from the environment.

    Raises:
        JobError: the scheduler cannot be reached, or it rejects this process; names the reason.
    """

    def __init__(self, job: Job):
        self.job = job
        self.lost: MXNetError | None = None  # why the job cannot continue
        self.loss_noted = threading.Event()  # set with ``lost``
        self._lost_ended = threading.Event()  # the process that failed has
        self._lost_ended.set()
        self.servers: dict[int, tuple[str, int]] = {}  # where they listen
        self.left: list[int] = []  # workers that have ended their programs
        self._owner = os.getpid()
        self._is_leaving = False
        self.agreement = Agreement(self._say)  # on the order of exchanges
        self._agreements: dict[tuple[int, ...], Agreement] = {}  # of parts of the job
        self._creating = threading.Lock()
        seconds, own = config.get("MIXNET_JOIN_SECONDS"), address_of(job.interface)
        if not job.has_scheduler and job.rank == 0:
            start_scheduler(job)
        connection = _connected(job, seconds)
        keep_alive(connection)
        self.address = own or connection.getsockname()[0]
        self.root = connection.getpeername()[0]
        peer = f"the scheduler at {job.root}:{job.port}"
        # The kernel closes it when this process has ended, Python's objects some time before.
        self._open_until_exit = os.dup(connection.fileno())
        self._wire = Wire(secured(connection, _name(job), peer))
        self._say(hello=self._hello())
        if job.role != "worker":
            return
        begun = self._answer(seconds)
        self.rank, self.port = int(begun["rank"]), int(begun["port"])
        self.peers: list[str] = begun["peers"]
        # The coordination service is reached directly, as just now, not through a proxy for downloads.
        known = os.environ.get(_NO_PROXY, "")
        os.environ[_NO_PROXY] = ",".join(filter(None, (known, self.root)))
        threading.Thread(target=self._watch, name="mixnet job", daemon=True).start()

    def _hello(self) -> dict[str, Any]:
        versions = f"mixnet {_PACKAGE_VERSION}, JAX {metadata.version('jax')}"
        return {
            "role": self.job.role,
            "rank": self.job.rank,
            "host": platform.node(),
            "pid": os.getpid(),
            "versions": versions,
            "address": self.address,
        }

    def _answer(self, seconds: float) -> dict[str, Any]:
        reason = ""
        try:
            # The scheduler gives up first and names the missing processes.
            line = self._wire.readline(seconds + 10)
        except OSError as error:
            line, reason = b"", f" ({refusal(error)})"
        message = unpacked(line)
        if "refused" in message:
            raise JobError(message["refused"])
        if "begin" not in message:
            raise JobError(
                f"{_name(self.job)}: the scheduler at {self.job.root}:{self.job.port} has ended, or is not "
                f"a mixnet scheduler, before the job began{reason}. Its output says why. It also closes "
                f"connections without a certificate of its job: {HOW}"
            )
        begin: dict[str, Any] = message["begin"]
        return begin

    def _say(self, **message: object) -> None:
        with contextlib.suppress(OSError):  # _watch sees the end of the connection
            self._wire.send(packed(**message))

    def _watch(self) -> None:
        while True:
            try:
                line = self._wire.readline()
            except (OSError, ValueError):
                line = b""
            message = unpacked(line)
            part = message.get("part")
            agreement = self.agreement if part is None else self.agreement_of(tuple(part))
            agreement.hear(message)
            if "alive" in message:
                self._say(alive=True)
            if "deadlock" in message:
                error = DisagreementError(explained(message["deadlock"]))
                for each in self._all_agreements():
                    each.end(error)
            if "servers" in message:
                self.servers = {
                    int(i): (str(a), int(p)) for i, (a, p) in message["servers"].items()
                }
            if "left" in message:
                self.left.append(message["left"])
                self._wake()
            if "lost" in message:
                lost = message["lost"]
                if lost.get("runs"):
                    self._lost_ended.clear()
                worker = lost["name"].partition(" (")[0]
                self._lose(
                    f"{lost['name']} {lost['reason']}. Nothing can be exchanged without it: this process "
                    f"ends, too. Look at what {worker} printed, and start all workers again from "
                    f"the last checkpoint."
                )
            if "ended" in message or not line:
                self._lost_ended.set()
            if not line:
                if not self._is_leaving:
                    self._lose(
                        f"The scheduler at {self.job.root}:{self.job.port}, and with it the job, has "
                        f"ended or cannot be reached. Start all processes again from the last "
                        f"checkpoint."
                    )
                return

    def _lose(self, reason: str) -> None:
        if self.lost is None:
            self.lost = WorkerLostError(reason)
            self.loss_noted.set()
            self._wake()

    def agreement_of(self, ranks: tuple[int, ...]) -> Agreement:
        """The agreement on the order of exchanges between some workers of the job.

        Args:
            ranks: of these workers.
        """
        with self._creating:
            if ranks not in self._agreements:
                self._agreements[ranks] = Agreement(partial(self._say, part=ranks))
            return self._agreements[ranks]

    def _all_agreements(self) -> list[Agreement]:
        with self._creating:
            return [self.agreement, *self._agreements.values()]

    def begun(self) -> dict[tuple[int, ...], int]:
        """For the whole job, ``()``, and each part of it the number of the last exchange that has begun."""
        with self._creating:
            parts = {ranks: each.begun for ranks, each in self._agreements.items()}
        return {(): self.agreement.begun, **parts}

    def report_waiting(
        self, ranks: tuple[int, ...], number: int, text: str, begun: dict[tuple[int, ...], int]
    ) -> None:
        """Tell the scheduler that this process waits in an exchange; arguments of ``waiting``."""
        self._say(waits=waiting(ranks, number, text, begun))

    def _wake(self) -> None:
        for each in self._all_agreements():
            each.wake()

    def let_lost_end(self, seconds: float) -> None:
        """Wait until the process that failed has ended, if that was what it was about to do.

        ``mpirun`` and ``srun`` report the code of the process that ends first, and end the others.
        """
        if not self._lost_ended.is_set() and self._lost_ended.wait(seconds):
            pause(_NOTICED)

    def fail(self, error: BaseException) -> None:
        """Notify the others that this process cannot take part in an exchange."""
        reason = str(error).strip().partition("\n")[0][:500]
        text = ": ".join(filter(None, (type(error).__name__, reason)))
        self._say(failed=f"failed: {text.rstrip('.')}")

    def report_unreachable(self, rank: int, reason: str) -> None:
        """Tell the scheduler that another worker cannot be reached, so that it counts as lost.

        Args:
            rank: of the other worker.
            reason: why.
        """
        self._say(unreachable=[rank, reason])

    def leave(self) -> None:
        """Notify the scheduler that this process has finished its work."""
        if os.getpid() == self._owner and not self._is_leaving:
            self._is_leaving = True
            if self.lost is None:
                self._say(left=True)

    def want_servers(self, key: str) -> None:
        """Ask servers to listen for workers that know the key.

        Args:
            key: path of the file with it.
        """
        self._say(serve=key)

    def wait_for_end(self, serve: Callable[[str, int], int]) -> bool:
        """For a server: wait until the job has ended; returns whether it succeeded.

        Args:
            serve: begins to serve, when workers want it; gets the path of the job's key and the number of the
                server, and returns the port that it listens on.
        """
        while line := self._wire.readline():
            message = unpacked(line)
            if "serve" in message:
                request = message["serve"]
                try:
                    port = serve(str(request["key"]), int(request["number"]))
                except Exception as error:
                    self.fail(error)  # or the workers would wait for this server
                    raise
                self._say(serving=port)
            if "end" in message:
                return not message["end"]
        return False

    def forget(self) -> None:
        """In a forked process: close the connection, which belongs to the parent."""
        self._wire.close()
        with contextlib.suppress(OSError):
            os.close(self._open_until_exit)


def _name(job: Job) -> str:
    """This process in error messages."""
    title = f"rank {job.rank}" if job.rank is not None else f"this {job.role}"
    return f"{title} on {platform.node()}"


def _connected(job: Job, seconds: float) -> socket.socket:
    end = time.monotonic() + seconds
    while True:
        try:
            return socket.create_connection((job.root, job.port), 5)
        except socket.gaierror as error:
            raise JobError(
                f"DMLC_PS_ROOT_URI={job.root}: {_name(job)} cannot resolve that name "
                f"({error.strerror}). Give an IP address, or enter the name in /etc/hosts or the DNS."
            ) from None
        except OSError as error:
            if time.monotonic() > end:
                raise JobError(
                    f"{_name(job)} could not reach the scheduler at {job.root}:{job.port} for "
                    f"{seconds:g} s: {error.strerror or error}. Is it running, and does the "
                    f"firewall allow the port? MIXNET_JOIN_SECONDS sets how long to try."
                ) from None
            pause(0.1)


def address_of(interface: str) -> str:
    """The IPv4 address of a network interface, empty for none.

    Raises:
        JobError: there is no such interface, or it has no address.
    """
    if not interface:
        return ""
    try:
        import fcntl
        import struct

        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            request = struct.pack("256s", interface.encode()[:15])
            # SIOCGIFADDR
            return socket.inet_ntoa(fcntl.ioctl(probe.fileno(), 0x8915, request)[20:24])
    except (ImportError, OSError):
        names = ", ".join(name for _, name in socket.if_nameindex())
        raise JobError(
            f"DMLC_INTERFACE={interface}: there is no such interface with an IPv4 address on "
            f"{platform.node()}; it has {names}."
        ) from None


def start_scheduler(job: Job) -> subprocess.Popen[bytes]:
    """Start a scheduler in a separate process, which ends with the job."""
    return _start(job, "scheduler")


def start_server(job: Job) -> subprocess.Popen[bytes]:
    """Start a server in a separate process, which ends with the job."""
    return _start(job, "server")


def _start(job: Job, role: str) -> subprocess.Popen[bytes]:
    env = {
        **os.environ,
        "DMLC_ROLE": role,
        STARTED_BY_WORKER: "1",
        "DMLC_PS_ROOT_URI": job.root,
        "DMLC_PS_ROOT_PORT": str(job.port),
        "DMLC_NUM_WORKER": str(job.workers),
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "JAX_PLATFORMS": "cpu",
    }
    # In its own session: a signal to rank 0 must not end it before the others have been notified.
    return subprocess.Popen(
        [sys.executable, "-c", "import mixnet"],
        env=env,
        start_new_session=True,
        stdin=subprocess.DEVNULL,
    )
