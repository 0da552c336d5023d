"""Starting small jobs in tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent


def launch(
    count: int, program: str, *arguments: object, options: tuple = ()
) -> subprocess.CompletedProcess:
    """Run a program of this folder in ``count`` processes; what they printed is in ``stdout``."""
    command = [sys.executable, "-m", "mixnet.tools.launch", "--launcher", "local", "-n", str(count), *options,
               sys.executable, str(PROGRAMS / program), *map(str, arguments)]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, timeout=240, cwd=ROOT)
