"""The launch plan: processes with their command lines and environments."""

from __future__ import annotations

import os
import shlex
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from mixnet.base import MXNetError
from mixnet.distributed.addresses import free_port

PASSED_ON = (
    "PYTHONPATH",
    "LD_LIBRARY_PATH",
    "DMLC_INTERFACE",
    "PS_VERBOSE",
    "MIXNET_JOIN_SECONDS",
    "MIXNET_SERVER_FOLDER",
    "MIXNET_TLS_CA",
    "MIXNET_TLS_CERT",
    "MIXNET_TLS_KEY",
    "MXNET_KVSTORE_BIGARRAY_BOUND",
)
"""Variables that processes on other machines get from here, if they are set."""


class LaunchError(MXNetError):
    """A job cannot be started.

    Args:
        text: why, and the way out.
    """

    exit_code: ClassVar[int] = 68


@dataclass(frozen=True)
class Process:
    """One process to start and to look after.

    Args:
        name: what its output is marked with, as ``rank 3``.
        command: its command line.
        environment: variables beside those of the launcher.
        is_worker: whether its end matters; others end with the job.
        host: where it runs; empty: here.
        holds_stdin: whether closing its standard input ends it.
        comes_back: whether it is started again when it fails.
        tag: where one command starts all workers, what it puts before their output, with the rank as its
            group (a regular expression); empty: the process is one of the job.
        exit_of: its line about a worker that failed, with groups ``rank`` and ``code``.
        logs: where one command starts all workers, the files that they print to, by rank; empty: they
            print to its output.
        first: the number of rank 0 in ``exit_of``.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    is_worker: bool = True
    host: str = ""
    holds_stdin: bool = False
    comes_back: bool = False
    tag: str = ""
    exit_of: str = ""
    logs: tuple[str, ...] = ()
    first: int = 0

    @property
    def starts_all(self) -> bool:
        """Whether this one command starts all workers."""
        return bool(self.tag or self.logs)

    def __str__(self) -> str:
        """A line for a shell that does the same."""
        variables = [
            f"{name}={shlex.quote(value)}" for name, value in sorted(self.environment.items())
        ]
        return " ".join([*variables, shlex.join(self.command)])


@dataclass(frozen=True)
class Plan:
    """A job to launch, as the command line describes it.

    Args:
        command: the program.
        workers: processes that train.
        servers: processes in the role of a server.
        launcher: how processes are started.
        hosts: names of machines; empty: this one.
        root: address of the machine of the scheduler.
        port: of the scheduler.
        folder: where to copy the working folder to, and to work in, on each machine.
        passed: names of variables that go along with their values here.
        for_all: variables for all processes; ``for_workers`` and ``for_servers`` for these.
    """

    command: tuple[str, ...]
    workers: int
    servers: int = 0
    launcher: str = "local"
    hosts: tuple[str, ...] = ()
    root: str = "127.0.0.1"
    port: int = 0
    folder: str = ""
    passed: tuple[str, ...] = ()
    for_all: Mapping[str, str] = field(default_factory=dict)
    for_workers: Mapping[str, str] = field(default_factory=dict)
    for_servers: Mapping[str, str] = field(default_factory=dict)

    def variables(self, role: str, rank: int | None = None) -> dict[str, str]:
        """The environment variables that describe the job to a process."""
        variables = {
            "DMLC_ROLE": role,
            "DMLC_PS_ROOT_URI": self.root,
            "DMLC_PS_ROOT_PORT": str(self.port),
            "DMLC_NUM_WORKER": str(self.workers),
            "DMLC_NUM_SERVER": str(self.servers),
            **self.for_all,
        }
        if role == "worker":
            variables.update(self.for_workers)
            if rank is not None:
                variables["DMLC_WORKER_ID"] = str(rank)
        elif role == "server":
            variables.update(self.for_servers)
            variables["DMLC_SERVER_ID"] = str(rank)
        return variables

    def passed_on(self) -> dict[str, str]:
        """Variables of this process that go to other machines."""
        return {name: os.environ[name] for name in (*PASSED_ON, *self.passed) if name in os.environ}

    def host(self, number: int) -> str:
        """The machine of the worker or server with this number: they take turns."""
        return self.hosts[number % len(self.hosts)]


def read_hosts(path: str) -> tuple[str, ...]:
    """The machines of a host file: a name a line, also as ``name slots=2`` or ``user@name``.

    Raises:
        LaunchError: there is no such file, or it names none.
    """
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            lines = [line.partition("#")[0].split() for line in file]
    except OSError as error:
        raise LaunchError(f"The host file {path} cannot be read: {error.strerror}.") from None
    hosts: list[str] = []
    for name, *rest in (line for line in lines if line):
        slots = next((each[6:] for each in rest if each.startswith("slots=")), "1")
        hosts += [name] * (int(slots) if slots.isdigit() else 1)
    if not hosts:
        raise LaunchError(f"The host file {path} names no machine: expected one name per line.")
    return tuple(hosts)


def name_of(host: str) -> str:
    """A machine without the user and port of its SSH server, which only ssh takes."""
    return host.rpartition("@")[2].partition(":")[0]


def own_address(towards: Sequence[str]) -> str:
    """The address of this machine that others reach it by.

    Args:
        towards: names of machines, as in a host file; the first one that has an address decides.
    """
    for host in towards or ("192.0.2.1",):
        try:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                probe.connect((name_of(host), 9))  # sends nothing
                return str(probe.getsockname()[0])
        except OSError:
            continue
    return "127.0.0.1"


def new_port(root: str) -> int:
    """A port for a scheduler here."""
    try:
        return free_port(root)
    except OSError:
        return free_port()
