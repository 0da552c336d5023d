"""Figures of a program that runs in a fresh process, under any interpreter."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any


def figures_of(python: str, source: str, **environment: str) -> Any:
    """What a program prints as JSON behind the word FIGURES.

    Args:
        python: the interpreter.
        source: the program.
        environment: variables on top of those of this process.

    Raises:
        RuntimeError: it printed none; the end of what it wrote to stderr.
    """
    done = subprocess.run(
        [python, "-c", source],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=1200,
    )
    for line in done.stdout.splitlines():
        if line.startswith("FIGURES"):
            return json.loads(line.removeprefix("FIGURES"))
    raise RuntimeError(done.stderr[-2000:])
