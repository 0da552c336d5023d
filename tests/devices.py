"""Running a module's tests once more in a process that has several CPU devices."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests import processes

ROOT = Path(__file__).parents[1]


def run_again_on_four_devices(path: str, *options: str) -> None:
    """Run the tests of ``path`` in a process where each context has its own device.

    Args:
        path: a test module, or a folder of them; one of its tests calls this.
        options: of pytest, such as ``-k`` and an expression that selects this very test, too.
    """
    if "MIXNET_CPU_DEVICES" in os.environ:
        import jax

        assert len(jax.local_devices(backend="cpu")) == 4
        return
    environment = {**os.environ, "MIXNET_CPU_DEVICES": "4", "PYTHONPATH": str(ROOT)}
    done = processes.run(
        [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", path, *options],
        env=environment, cwd=ROOT, capture_output=True, text=True, timeout=240
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
