"""The command line of a job on this machine."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def local_job(
    workers: int, program: Sequence[str], servers: int = 0, options: Sequence[str] = ()
) -> list[str]:
    """A command that runs a Python program in processes of this machine, with ``mixnet-launch``.

    Args:
        workers: how many processes.
        program: a file or ``-m module``, and its arguments.
        servers: processes in the role of a server.
        options: more of the launcher's.
    """
    launcher = [sys.executable, "-m", "mixnet.tools.launch", "--launcher", "local"]
    counts = ["-n", str(workers), *(["-s", str(servers)] if servers else ())]
    return [*launcher, *counts, *options, sys.executable, *program]
