"""Stores of two processes on this machine."""

from __future__ import annotations

from pathlib import Path

from tests.distributed.launching import launch


def test_two_processes(tmp_path: Path) -> None:
    job = launch(
        2,
        "program_stores.py",
        tmp_path,
        options=("--env", "EXTRA:given", "--env-worker", "OTHER:1"),
    )
    assert job.returncode == 0, job.stdout + job.stderr
    for rank in (0, 1):  # every program got to its end; output carries the rank
        assert f"[rank {rank}] all right, rank {rank}, given" in job.stdout
    assert "Gloo" not in job.stdout and "coordination" not in job.stdout
