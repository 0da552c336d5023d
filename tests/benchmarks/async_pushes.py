"""Small pushes of several workers to one server that is killed meanwhile: how many a second, and
that each counts once.

python -m tests.benchmarks.async_pushes [--workers 8] [--pushes 100000] [--kills 2]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
from pathlib import Path

from mixnet.distributed.measuring import local_job

_PROGRAM = Path(__file__).parents[1] / "distributed" / "program_async.py"


def main() -> None:
    """Print what the first worker says; the exit code is that of the job."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--servers", type=int, default=1)
    parser.add_argument("--pushes", type=int, default=100_000)
    parser.add_argument("--kills", type=int, default=2)
    options = parser.parse_args()
    each = -(-options.pushes // options.workers)
    with tempfile.TemporaryDirectory() as folder:
        program = [str(_PROGRAM), folder, str(each), str(options.kills), "counted"]
        command = local_job(options.workers, program, options.servers)
        env = {
            **os.environ,
            "MIXNET_SERVER_FOLDER": f"{folder}/servers",
            "MIXNET_JOIN_SECONDS": "240",
        }
        raise SystemExit(subprocess.run(command, env=env, check=False).returncode)


if __name__ == "__main__":
    main()
