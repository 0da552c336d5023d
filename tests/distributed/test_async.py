"""Asynchronous stores of two workers and two servers on this machine, of which each is killed once."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mixnet.distributed.addresses import free_port
from mixnet.distributed.job import EXIT_LOST, JobError
from tests import processes
from tests.distributed.launching import ROOT, launch
from tests.distributed.test_scheduler import Call, with_scheduler

pytest.importorskip(
    "cloudpickle", reason="updaters of a program travel by cloudpickle: pip install mixnet[async]"
)


def test_killed_servers_restart_and_lose_no_push(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MIXNET_SERVER_FOLDER", str(tmp_path / "servers"))
    monkeypatch.setenv("MIXNET_JOIN_SECONDS", "120")  # for machines that are busy with other tests
    monkeypatch.setenv("MXNET_KVSTORE_BIGARRAY_BOUND", "100")
    job = launch(2, "program_async.py", tmp_path, 400, 2, options=("-s", "2"))
    out = job.stdout
    assert job.returncode == 0, out + job.stderr
    assert "800 pushes in" in out and "each counted once, 2 kills" in out
    for number in range(2):
        assert f"mixnet-launch: server {number} ended (killed by SIGKILL); starts again" in out
        assert f"[server {number}] mixnet server: unknown command (5, hello)" in out
        assert f"[rank {number}] all right, rank {number}" in out
    assert not list((tmp_path / "servers").iterdir())  # keys and databases are gone


def test_a_job_survives_a_worker_killed_while_a_server_restarts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MIXNET_SERVER_FOLDER", str(tmp_path / "servers"))
    monkeypatch.setenv("MIXNET_JOIN_SECONDS", "60")
    begin = time.monotonic()
    job = launch(2, "program_crashes.py", tmp_path, options=("-s", "1", "--max-restarts", "1"))
    out = job.stdout
    assert job.returncode == 0, out + job.stderr
    assert "rank 1 failed first (killed by SIGKILL)" in out
    assert "[rank 0] mixnet.distributed.job.WorkerLostError: rank 1 (process" in out
    assert out.count("] done") == 2
    assert time.monotonic() - begin < 200


_PUSHES = """
import os, signal, sys
import mixnet as mx
from mixnet.distributed.processes import world
store, ones = mx.kv.create("dist_async"), mx.nd.ones(4)
store.init("w", ones)
store.set_optimizer(mx.optimizer.Test())
store.barrier()
if store.rank == 0:
    os.kill(store.handle.server_processes()[0], signal.SIGKILL)
    while sys.argv[1] == "pushes":
        store.push("w", ones)
        store.pull("w", out=ones)
        ones.wait_to_read()
    store.push("w", ones)  # and ends, without waiting for it
else:
    store.push("w", ones)
    world().member.loss_noted.wait(60)
    store.push("w", ones)
    mx.nd.waitall()
    raise AssertionError("the error of the push was lost")
"""


@pytest.mark.parametrize("when", ["pushes", "ends"])
def test_a_server_that_does_not_restart_is_an_error(when: str, tmp_path: Path) -> None:
    """Each worker waits for it once, reports it once, and ends with the code for a lost process."""
    env = {**os.environ, "DMLC_PS_ROOT_URI": "127.0.0.1", "DMLC_PS_ROOT_PORT": str(free_port()),
           "DMLC_NUM_WORKER": "2", "DMLC_NUM_SERVER": "1",
           "MIXNET_SERVER_FOLDER": str(tmp_path / "servers")}  # fmt: skip
    roles = [{"DMLC_ROLE": "scheduler"}, {"DMLC_ROLE": "server"}]
    roles += [
        {"DMLC_ROLE": "worker", "DMLC_WORKER_ID": str(rank), "MIXNET_JOIN_SECONDS": "15"}
        for rank in range(2)
    ]
    started = [
        processes.Popen([sys.executable, "-c", _PUSHES, when], env={**env, **role}, cwd=ROOT,
                        stderr=subprocess.PIPE, text=True)
        for role in roles
    ]  # fmt: skip
    messages = [process.communicate(timeout=120)[1] for process in started]
    codes = [process.returncode for process in started]
    assert codes == [1, -9, EXIT_LOST, EXIT_LOST], messages
    assert messages[2].count("WorkerLostError: server 0 could not be reached for 15 s") == 1, (
        messages[2]
    )
    assert messages[3].count("WorkerLostError: rank 0") == 1, messages[3]


@pytest.mark.usefixtures("no_running_loop")
@pytest.mark.parametrize("has_folder", [True, False])
def test_a_server_that_cannot_read_the_key_ends_the_job(
    has_folder: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its machine has another folder, or none: the worker ends at once with the server's message."""
    from mixnet.kvstore import job_key
    from mixnet.kvstore.serving import Serving

    async def talk(call: Call) -> None:
        worker, server = await call(0), await call(None, role="server")
        await worker.hear()
        worker.say(serve="the key")
        await server.hear()
        server.say(failed="failed: JobError: cannot be read")
        lost = (await worker.hear())["lost"]
        assert lost == {
            "name": "server 0 (process 7 on hNone)",
            "reason": "failed: JobError: cannot be read",
            "runs": True,
        }
        worker.end()

    assert with_scheduler(1, talk) == 1
    monkeypatch.setattr(job_key, "_LATE_SECONDS", 0.1)
    folder = tmp_path / "there"
    if has_folder:
        folder.mkdir()
    with pytest.raises(JobError, match=r"job-1\.key, cannot be read: .*MIXNET_SERVER_FOLDER"):
        Serving("127.0.0.1").start(str(folder / "job-1.key"), 0)
    assert not folder.exists() or not list(folder.iterdir())
