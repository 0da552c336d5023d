"""Starting small jobs in tests."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from mixnet.distributed.measuring import local_job
from tests import processes

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent


def launch(
    count: int, program: str, *arguments: object, options: tuple = ()
) -> subprocess.CompletedProcess:
    """Run a program of this folder in ``count`` processes; what they printed is in ``stdout``."""
    command = local_job(count, [str(PROGRAMS / program), *map(str, arguments)], options=options)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}  # this checkout, whichever is installed
    return processes.run(command, capture_output=True, text=True, timeout=240, cwd=ROOT, env=env)
