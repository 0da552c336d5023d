"""Process sets of three processes, and an exchange that differs within one at the end."""

from __future__ import annotations

from tests.distributed.launching import launch


def test_process_sets() -> None:
    job = launch(3, "program_process_sets.py")
    output = job.stdout + job.stderr
    assert job.stdout.count("] done") == 3, output
    assert job.returncode == 1, output
    assert "DisagreementError: The workers come to different exchanges" in output
    assert "rank 0: all-reduce of (3,) float32" in output
    assert "rank 2: all-reduce of (4,) float32" in output
