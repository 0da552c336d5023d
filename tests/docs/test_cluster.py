"""The submission scripts train, and resume a job that was stopped."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def submit(script: str, results: Path, epochs: int, **environment: str) -> str:
    """What a job prints."""
    bin_first = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    process = subprocess.run(
        ["bash", f"docs/cluster/{script}"],
        cwd=ROOT,
        env={**os.environ, "PATH": bin_first, "PYTHONPATH": str(ROOT), "VENV": "none", "USER": "somebody",
             "RESULTS": str(results), "EPOCHS": str(epochs), "MIXNET_CACHE_DIR": "off", **environment},
        capture_output=True, text=True, check=False, timeout=240
    )  # fmt: skip
    assert process.returncode == 0, process.stderr[-2000:]
    return process.stdout


def test_a_resubmitted_job_resumes(tmp_path: Path) -> None:
    output = submit("slurm.sh", tmp_path, 1, SLURM_SUBMIT_DIR=str(ROOT))
    assert "after epoch 0" in output
    assert (tmp_path / "lenet-0001.params").exists()
    output = submit("slurm.sh", tmp_path, 2, SLURM_SUBMIT_DIR=str(ROOT))
    assert "after epoch 1" in output
    assert (tmp_path / "lenet-0002.params").exists()


def text_of_bash(script: str) -> str:
    """A script's text, once Bash has parsed it."""
    path = ROOT / "docs" / "cluster" / script
    parsed = subprocess.run(
        ["bash", "-n", str(path)], capture_output=True, text=True, check=False, timeout=60
    )
    assert parsed.returncode == 0, parsed.stderr
    return path.read_text()


@pytest.mark.parametrize("script", ["slurm.sh", "sge.sh", "pbs.sh", "train.sh"])
def test_a_script_is_valid_bash(script: str) -> None:
    text = text_of_bash(script)
    assert script == "train.sh" or ". docs/cluster/train.sh" in text


@pytest.mark.parametrize(
    "script", ["slurm-workers.sh", "sge-workers.sh", "pbs-workers.sh", "workers.sh"]
)
def test_a_script_of_many_workers_is_valid_bash(script: str) -> None:
    text = text_of_bash(script)
    assert script == "workers.sh" or "START=" in text
