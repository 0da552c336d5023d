"""Stores of two processes on this machine."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

from tests import processes
from tests.distributed.launching import PROGRAMS, ROOT, launch


def test_stores_of_two_processes_pass_all_checks(tmp_path: Path) -> None:
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


def test_a_process_without_a_job_is_the_only_one_of_horovod(tmp_path: Path) -> None:
    names = ("DMLC_", "OMPI_", "PMI_", "SLURM_", "MASTER_")
    env = {name: value for name, value in os.environ.items() if not name.startswith(names)}
    run = processes.run(
        [sys.executable, str(PROGRAMS / "program_alone.py")],
        capture_output=True,
        text=True,
        timeout=240,
        cwd=ROOT,
        env={**env, "PYTHONPATH": str(ROOT), "HOROVOD_TIMELINE": str(tmp_path / "timeline.json")},
    )
    assert (run.returncode, run.stdout) == (0, "all right\n"), run.stdout + run.stderr
    events = json.loads((tmp_path / "timeline.json").read_text())["traceEvents"]
    assert {"all-reduce", "broadcast"} <= {each.get("name") for each in events}


def test_training_gives_the_numbers_of_mxnet(tmp_path: Path) -> None:
    """Sum and norm of a weight after training are those of the real MXNet with two workers."""
    functions = ("module_with_schedule", "sparse_linear", "gluon_with_clipping")
    job = launch(2, "program_as_for_mxnet.py", tmp_path, *functions)
    assert job.returncode == 0, job.stdout + job.stderr
    expected = {
        "module": [-0.42865, 4.64115],
        "sparse": [4.0, 4.31627],
        "gluon": [-4.01745, 1.60937],
    }
    for rank in range(2):
        for name, numbers in expected.items():
            match = re.search(rf"\[rank {rank}\] {name} (\S+) (\S+)", job.stdout)
            assert match is not None, job.stdout
            assert [float(each) for each in match.groups()] == pytest.approx(numbers, abs=2e-4)
