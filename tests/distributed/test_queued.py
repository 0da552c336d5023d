"""A loop of exchanges that reads nothing, so that it runs ahead of its programs."""

from __future__ import annotations

from tests.distributed.launching import launch


def test_programs_are_waited_for_without_the_lock_of_exchanges() -> None:
    job = launch(2, "program_queued.py")
    assert job.returncode == 0, job.stdout + job.stderr
    assert job.stdout.count("mean 1.0 exchanges 40 locked False") == 2, job.stdout + job.stderr
