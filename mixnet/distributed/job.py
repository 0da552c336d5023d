"""The job that this process belongs to, read from environment variables."""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from mixnet.base import MXNetError
from mixnet.private_jax.jobs import coordinator

EXIT_LOST = 75
"""Exit code of a process that ended because another one had: trying again may help."""

EXIT_NOT_JOINED = 69
"""Exit code of a process that found no job to join."""


STARTED_BY_WORKER = "MIXNET_STARTED_BY_WORKER"
"""Environment variable of a scheduler that a worker started: it does not wait for long for workers."""


class JobError(MXNetError):
    """The processes of a job cannot connect to each other."""

    exit_code: ClassVar[int] = EXIT_NOT_JOINED


class WorkerLostError(MXNetError):
    """Another process of the job exited or failed before its work was done."""

    exit_code: ClassVar[int] = EXIT_LOST


def local_rank(otherwise: int) -> int:
    """Number of this process among those of the job on its machine, set by the launcher.

    Args:
        otherwise: the number if no launcher has set one.
    """
    names = ("DMLC_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "LOCAL_RANK")
    return int(next((os.environ[name] for name in names if name in os.environ), otherwise))


@dataclass(frozen=True)
class Job:
    """A job, as seen by one process.

    Args:
        workers: how many processes train.
        root: name or address of the machine where the scheduler is.
        port: of the scheduler.
        rank: number of this worker; None: the scheduler assigns one.
        role: ``worker``, ``server`` or ``scheduler``.
        servers: processes in the role of a server.
        interface: the network interface for arrays; empty: the one that leads to ``root``.
        has_scheduler: whether a scheduler is started separately; otherwise the worker of rank 0 starts one.
    """

    workers: int
    root: str
    port: int
    rank: int | None = None
    role: str = "worker"
    servers: int = 0
    interface: str = ""
    has_scheduler: bool = True


_RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")


def find_job(environment: Mapping[str, str] | None = None) -> Job | None:
    """The job described by environment variables: ``DMLC_*``, those of torchrun, mpirun or srun; or None.

    Args:
        environment: by default that of the process.

    Raises:
        JobError: variables are missing or are not numbers.
    """
    env = os.environ if environment is None else environment
    job = _of_dmlc(env) or _of_torchrun(env) or _of_launcher(env, environment is None)
    if job is None:
        return None
    job = replace(job, interface=env.get("DMLC_INTERFACE", ""))
    if job.rank is not None and not 0 <= job.rank < job.workers and job.role == "worker":
        raise JobError(
            f"This worker has number {job.rank} in a job of {job.workers}; numbers go from 0 to "
            f"{job.workers - 1}."
        )
    return job


_LAST_PORT = 65535


def _port(env: Mapping[str, str], name: str) -> int:
    port = _number(env, name, 1)
    if port > _LAST_PORT:
        raise JobError(f"{name}={env[name]}: ports go from 1 to {_LAST_PORT}.")
    return port


def _number(env: Mapping[str, str], name: str, least: int = 0) -> int:
    text = env.get(name)
    if text is None:
        raise JobError(
            f"The environment describes a job, but {name} is missing. Start the processes with "
            f"mixnet-launch, or set DMLC_ROLE, DMLC_PS_ROOT_URI, DMLC_PS_ROOT_PORT, DMLC_NUM_WORKER, "
            f"DMLC_NUM_SERVER and DMLC_WORKER_ID."
        )
    if not text.strip().isdigit() or int(text) < least:
        raise JobError(f"{name}={text!r}: expected a whole number of {least} or more.")
    return int(text)


def _of_dmlc(env: Mapping[str, str]) -> Job | None:
    if "DMLC_PS_ROOT_URI" not in env and "DMLC_ROLE" not in env:
        return None
    role = env.get("DMLC_ROLE", "worker")
    if role not in ("worker", "server", "scheduler"):
        raise JobError(f"DMLC_ROLE={role!r}: use worker, server or scheduler.")
    root = env.get("DMLC_PS_ROOT_URI")
    if not root:
        raise JobError(
            "DMLC_PS_ROOT_URI is missing: the address of the machine where the scheduler runs."
        )
    workers, port = _number(env, "DMLC_NUM_WORKER", 1), _port(env, "DMLC_PS_ROOT_PORT")
    # mpirun and srun give all processes the same variables, and numbers of their own.
    known = (name for name in ("DMLC_WORKER_ID", *_RANKS) if name in env)
    name = next(known, None) if role == "worker" else None
    if role == "server" and "DMLC_SERVER_ID" in env:
        name = "DMLC_SERVER_ID"
    rank = None if name is None else _number(env, name)
    servers = _number(env, "DMLC_NUM_SERVER") if "DMLC_NUM_SERVER" in env else 0
    return Job(workers, root, port, rank, role, servers)


def _of_torchrun(env: Mapping[str, str]) -> Job | None:
    if not {"MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE"} <= set(env):
        return None
    port_in_use = env.get("TORCHELASTIC_USE_AGENT_STORE") == "True"  # its own store listens there
    port = _port(env, "MASTER_PORT") + (1 if port_in_use else 0)
    workers, rank = _number(env, "WORLD_SIZE", 1), _number(env, "RANK")
    return Job(workers, env["MASTER_ADDR"], port, rank, has_scheduler=False)


def _of_launcher(env: Mapping[str, str], is_own: bool) -> Job | None:
    """The settings of mpirun and srun; JAX finds the address of the first process."""
    for size, rank, local in (
        ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
        ("PMI_SIZE", "PMI_RANK", "MPI_LOCALNRANKS"),
        ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_STEP_TASKS_PER_NODE"),
    ):
        if size in env and rank in env:
            workers = _number(env, size, 1)
            if env.get(local) == str(workers):  # all of them on one machine
                return Job(
                    workers, "127.0.0.1", _port_of(env), _number(env, rank), has_scheduler=False
                )
            root, port = _coordinator() if is_own else ("", 0)
            return Job(workers, root, port, _number(env, rank), has_scheduler=False)
    return None


_FIRST_PORT, _NUM_PORTS = 43008, 16384
"""The ports among which :func:`_port_of` chooses."""


def _port_of(env: Mapping[str, str]) -> int:
    """A port that all processes of a job can compute, and that two jobs on a machine rarely share."""
    names = ("PMIX_NAMESPACE", "SLURM_JOB_ID", "SLURM_STEP_ID", "OMPI_MCA_ess_base_jobid", "PMI_ID")
    digest = zlib.crc32("/".join(env.get(name, "") for name in names).encode())
    return _FIRST_PORT + digest % _NUM_PORTS


def _coordinator() -> tuple[str, int]:
    root, _, port = coordinator().rpartition(":")
    return root, int(port)
