"""Asynchronous stores of two workers and two servers on this machine, of which each is killed once."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.distributed.launching import launch

pytest.importorskip(
    "cloudpickle", reason="updaters of a program travel by cloudpickle: pip install mixnet[async]"
)


def test_servers_that_are_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_worker_that_is_killed_while_a_server_starts_again(
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
    assert time.monotonic() - begin < 100
