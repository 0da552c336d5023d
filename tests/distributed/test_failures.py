"""Processes of a job that end too early, or never join."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

import mixnet as mx
from mixnet.distributed import Job, JobError
from mixnet.distributed.addresses import free_port
from mixnet.distributed.job import EXIT_LOST, EXIT_NOT_JOINED
from mixnet.distributed.lines import packed
from mixnet.distributed.member import Member, address_of
from mixnet.distributed.scheduler import Scheduler
from tests import processes
from tests.distributed.launching import ROOT, launch
from tests.waiting import until


def test_a_killed_worker_ends_all_and_they_start_again(tmp_path: Path) -> None:
    begin = time.monotonic()
    job = launch(2, "program_fails.py", tmp_path, options=("--max-restarts", "1"))
    out = job.stdout
    assert job.returncode == 0, out + job.stderr
    assert "[rank 0] ends now" in out
    # The survivor names the lost process and a way out; the launcher names the first to fail, with its last
    # lines.
    assert "[rank 1] mixnet.distributed.job.WorkerLostError: rank 0 (process" in out
    assert "start all workers again from the last checkpoint" in out
    assert "rank 0 failed first (killed by SIGKILL)" in out and "    ends now" in out
    assert out.count("begins at 4") == 2 and out.count("] done") == 2
    assert time.monotonic() - begin < 150


def test_a_worker_that_ends_early_is_reported() -> None:
    job = launch(3, "program_ends_early.py")
    lines = job.stdout.splitlines()
    ended = r"(rank [12] has ended its program|ranks 1, 2 have ended their programs), while rank 0"
    (error,) = [line for line in lines if line.startswith("[rank 0] mixnet.")]
    assert re.search(f"WorkerLostError: {ended} has more to exchange", error), job.stdout
    (scheduler_line,) = [line for line in lines if line.startswith("[scheduler]")]
    assert re.search(rf"rank 0 \(.*{ended}", scheduler_line), job.stdout
    # Above it are the lines of the program alone.
    frames = [line for line in lines if line.startswith("[rank 0]   File ")]
    assert len(frames) == 1 and "program_ends_early.py" in frames[0], job.stdout
    assert job.returncode == 75


def test_a_stopped_worker_ends_all() -> None:
    begin = time.monotonic()
    job = launch(3, "program_stops.py")
    lost = (
        r"WorkerLostError: rank 1 \(process \d+ on .*\) has not answered for 15 s, while others wait for it: "
        "it has been stopped, as by Ctrl-Z or a debugger, or its machine hangs. Nothing can be exchanged"
    )
    for rank in (0, 2):
        assert re.search(rf"\[rank {rank}\] mixnet.*{lost}", job.stdout), job.stdout
    assert job.returncode == EXIT_LOST, job.stdout
    # 20 seconds of the program and its detection; it reacts to SIGTERM at once, since it is continued.
    assert time.monotonic() - begin < 100


def two_workers(program: str) -> list[processes.Popen]:
    """A scheduler and two workers without the launcher, which would end all of them."""
    env = {**os.environ, "DMLC_PS_ROOT_URI": "127.0.0.1", "DMLC_NUM_SERVER": "0",
           "DMLC_PS_ROOT_PORT": str(free_port()), "DMLC_NUM_WORKER": "2"}  # fmt: skip
    roles = [{"DMLC_ROLE": "scheduler"}]
    roles += [{"DMLC_ROLE": "worker", "DMLC_WORKER_ID": str(rank)} for rank in range(2)]
    return [
        processes.Popen([sys.executable, "-c", program], env={**env, **role}, cwd=ROOT,
                        stderr=subprocess.PIPE, text=True)
        for role in roles
    ]  # fmt: skip


_FAILS = """
import mixnet as mx
store = mx.kv.create("dist_sync")
store.init("w", mx.nd.ones(4))
if store.rank == 1:
    store.push("w", mx.nd.ones(4))  # which rank 0 does not come to
    raise ValueError("mine")
mx.nd.waitall()
store._barrier()
"""


def test_a_failed_worker_ends_before_its_peers() -> None:
    """``srun`` and ``mpirun`` return the code of the first to end and kill the others."""
    scheduler, *workers = two_workers(_FAILS)
    ended: list[int] = []

    def have_ended() -> bool:
        ended.extend(i for i in range(2) if i not in ended and workers[i].poll() is not None)
        return len(ended) == 2

    until(have_ended)
    messages = [each.communicate(timeout=60)[1] for each in (*workers, scheduler)]
    assert ended == [1, 0], messages
    assert [each.returncode for each in workers] == [EXIT_LOST, 1], messages
    assert "ValueError: mine" in messages[1] and "failed: ValueError: mine" in messages[0]


_READS_NOTHING = """
import os, sys
import mixnet as mx
from mixnet.distributed.processes import world
store = mx.kv.create("dist_sync")
store.init("w", mx.nd.ones(4))
if store.rank == 1:
    os._exit(1)
assert world().member.loss_noted.wait(60)
store.push("w", mx.nd.ones(4))
print("pushed", file=sys.stderr)
"""


def test_a_push_raises_once_a_worker_is_lost() -> None:
    started = two_workers(_READS_NOTHING)
    messages = [each.communicate(timeout=60)[1] for each in started]
    assert started[1].returncode == EXIT_LOST, messages
    assert "WorkerLostError: rank 1 (process" in messages[1] and "pushed" not in messages[1]


def test_ctrl_c_in_a_push_leaves_all_workers_with_the_same_values() -> None:
    job = launch(2, "program_interrupted.py")
    assert job.returncode == 0, job.stdout + job.stderr
    assert job.stdout.count("lines") == 8 and job.stdout.count("] done") == 2


def wait_for_connection(process: subprocess.Popen, port: int, seconds: float = 60) -> None:
    """Wait until a process is connected to a port."""

    def is_connected() -> bool:
        assert process.poll() is None, process.communicate(timeout=60)
        connections = psutil.Process(process.pid).net_connections()
        return any(each.raddr and each.raddr.port == port for each in connections)

    until(is_connected, seconds)


def connected_to(process: subprocess.Popen, port: int, seconds: float = 60) -> socket.socket:
    """A connection to a process that will listen on a port."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert process.poll() is None, process.communicate(timeout=60)
        try:
            return socket.create_connection(("127.0.0.1", port), 10)
        except ConnectionRefusedError:
            time.sleep(0.02)
    raise AssertionError(f"nothing listens on port {port} after {seconds:.0f} s")


def test_a_scheduler_needs_jaxlib_alone() -> None:
    port = free_port()
    env = {**os.environ, "DMLC_PS_ROOT_URI": "127.0.0.1", "DMLC_PS_ROOT_PORT": str(port),
           "DMLC_NUM_WORKER": "1", "DMLC_NUM_SERVER": "0", "DMLC_ROLE": "scheduler",
           "PS_VERBOSE": "1"}  # fmt: skip
    command = [sys.executable, "-X", "importtime", "-c", "import mixnet"]
    scheduler = subprocess.Popen(command, env=env, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    try:
        with connected_to(scheduler, port) as worker:
            hello = {"role": "worker", "rank": 0, "host": "h", "pid": 7, "versions": "v"}
            worker.sendall(packed(hello=hello))
            assert b'"begin"' in worker.recv(1 << 16)  # so JAX's service runs
            worker.sendall(packed(left=True))
        _, imports = scheduler.communicate(timeout=60)
    finally:
        scheduler.kill()
    imported = {line.rpartition("|")[2].strip() for line in imports.splitlines()}
    assert scheduler.returncode == 0 and "jaxlib._jax" in imported
    assert not imported & {"jax", "mixnet.ndarray", "mixnet.ops"}


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"DMLC_WORKER_ID": "5"}, "number 5 in a job of 2"),
        ({"DMLC_INTERFACE": "eth77"}, "no such interface"),  # before it looks for the scheduler
        ({"DMLC_PS_ROOT_PORT": "70000"}, "ports go from 1 to 65535"),
    ],
)
def test_a_mistake_in_the_environment_has_the_exit_code_of_not_joining(
    change: dict, text: str
) -> None:
    env = {**os.environ, "DMLC_PS_ROOT_URI": "127.0.0.1", "DMLC_PS_ROOT_PORT": "9", "DMLC_ROLE": "worker",
           "DMLC_NUM_WORKER": "2", "DMLC_NUM_SERVER": "0", "DMLC_WORKER_ID": "0", **change}  # fmt: skip
    command = [sys.executable, "-c", "import mixnet as mx; mx.kv.create('dist_sync')"]
    job = processes.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert job.returncode == EXIT_NOT_JOINED and text in job.stderr, job.stderr
    assert job.stderr.count("JobError") == 1 and "mixnet/distributed" not in job.stderr


def test_a_worker_that_never_connects_is_an_error() -> None:
    port = free_port()
    env = {**os.environ, "DMLC_PS_ROOT_URI": "127.0.0.1", "DMLC_PS_ROOT_PORT": str(port),
           "DMLC_NUM_WORKER": "2", "DMLC_NUM_SERVER": "1", "MIXNET_JOIN_SECONDS": "5"}  # fmt: skip
    command = [sys.executable, "-c", "import mixnet as mx; mx.kv.create('dist_sync')"]
    roles = {"scheduler": {}, "server": {}, "worker": {"DMLC_WORKER_ID": "0"}}
    started = {}
    for role, more in roles.items():
        if role == "worker":  # which is forked: a server that imports mixnet would come too late
            wait_for_connection(started["server"], port)
        started[role] = processes.Popen(
            command,
            env={**env, "DMLC_ROLE": role, **more},
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
        )
    errors = {role: process.communicate(timeout=60)[1] for role, process in started.items()}
    reason = "After 5 s rank 1 had not come; of 2 workers rank 0 had."
    assert reason in errors["worker"] and "MIXNET_JOIN_SECONDS" in errors["worker"]
    assert reason in errors["scheduler"]
    codes = {role: process.returncode for role, process in started.items()}
    assert codes == {"scheduler": EXIT_NOT_JOINED, "server": 1, "worker": EXIT_NOT_JOINED}


def test_a_name_without_an_address_is_an_error() -> None:
    with pytest.raises(JobError, match=r"DMLC_PS_ROOT_URI=no-such-host\.invalid: rank 0 on "):
        Member(Job(2, "no-such-host.invalid", 9091, 0))


def test_a_missing_scheduler_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIXNET_JOIN_SECONDS", "0.2")
    port = free_port()
    with pytest.raises(
        JobError, match=rf"rank 1 on .* could not reach the scheduler at 127.0.0.1:{port}"
    ):
        Member(Job(2, "127.0.0.1", port, 1))


def test_another_service_on_the_port_is_an_error() -> None:
    import threading

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=lambda: server.accept()[0].close(), daemon=True).start()
        with pytest.raises(JobError, match="has ended, or is not a mixnet scheduler"):
            Member(Job(2, "127.0.0.1", server.getsockname()[1], 1))


def test_unknown_interfaces_are_errors() -> None:
    assert address_of("") == ""
    assert address_of("lo") == "127.0.0.1"
    with pytest.raises(JobError, match=r"DMLC_INTERFACE=eth99: there is no such interface.*lo"):
        address_of("eth99")


def test_a_store_without_a_job_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "DMLC_ROLE",
        "DMLC_PS_ROOT_URI",
        "OMPI_COMM_WORLD_SIZE",
        "SLURM_STEP_NUM_TASKS",
        "RANK",
    ):
        monkeypatch.delenv(name, raising=False)
    for kind in ("dist_sync", "dist_device_sync", "dist_sync_device", "dist"):
        with pytest.raises(mx.MXNetError, match=r"is not part of a job.*mixnet-launch -n 2"):
            mx.kv.create(kind)


def test_an_error_without_text_is_described_to_peers() -> None:
    messages: list[dict] = []
    member = Member.__new__(Member)
    member._say = lambda **message: messages.append(message)
    for error in (KeyboardInterrupt(), ValueError("\n first line.\nsecond"), MemoryError("")):
        member.fail(error)
    assert [each["failed"] for each in messages] == [
        "failed: KeyboardInterrupt",
        "failed: ValueError: first line",
        "failed: MemoryError",
    ]


def test_a_scheduler_ends_after_its_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIXNET_STARTED_BY_WORKER", "1")
    monkeypatch.setenv("MIXNET_JOIN_SECONDS", "0.2")
    job = Job(2, "127.0.0.1", free_port(), role="scheduler")

    async def serve() -> int:
        return await asyncio.wait_for(Scheduler(job).serve(), 20)

    with ThreadPoolExecutor(1) as pool:  # tests of pages leave a running loop in this thread
        assert pool.submit(asyncio.run, serve()).result(60) == EXIT_NOT_JOINED
