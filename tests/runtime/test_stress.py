"""Threads, custom operators, views, autograd, bulk, devices and waits at once: see ``stress.py``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests import processes

ROOT = Path(__file__).parents[2]


# Each engine runs other programs.
@pytest.mark.spread
@pytest.mark.parametrize(
    ("engine", "seed"),
    [("ThreadedEnginePerDevice", 0), ("ThreadedEngine", 20), ("NaiveEngine", 40)],
)
def test_threads_compute_what_they_compute_alone(engine: str, seed: int) -> None:
    environment = {**os.environ, "MXNET_ENGINE_TYPE": engine, "MIXNET_WATCHDOG": "20"}
    options = ["--rounds", "20", "--seconds", "60", "--seed", str(seed)]
    command = [sys.executable, "-m", "tests.runtime.stress", *options]
    run = processes.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.endswith("same results as serially\n")
    assert "has waited" not in run.stderr, run.stderr
