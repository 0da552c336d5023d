"""The driver's side of a worker: a process to ask."""

from __future__ import annotations

import json
import subprocess
from typing import Any


class Client:
    """A process with one framework.

    Args:
        launcher: command that runs Python there.
        framework: name of the module.
        threads: cores that it may use.
        module: that serves requests.
    """

    def __init__(
        self,
        launcher: list[str],
        framework: str,
        threads: int,
        module: str = "tests.benchmarks.networks.worker",
    ):
        self.framework = framework
        self._process = subprocess.Popen(
            [*launcher, "-m", module, framework, str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    @property
    def process(self) -> int:
        """Its number."""
        return self._process.pid

    def ask(self, do: str, **request: Any) -> Any:
        """What a worker's method returns.

        Raises:
            RuntimeError: what it raised, or that the process ended.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **request}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise RuntimeError(f"The worker of {self.framework} ended.")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"{self.framework}: {answer['error']}")
        return answer["value"]

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
