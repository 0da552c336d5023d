"""The driver's side of a worker: a process to ask."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
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
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        reading, writing = os.pipe()
        self._answers = os.fdopen(reading)
        self._process = subprocess.Popen(
            [*launcher, "-m", module, framework, str(threads), str(writing)],
            stdin=subprocess.PIPE,
            stdout=self._printed,
            stderr=self._printed,
            pass_fds=(writing,),
            text=True,
        )
        os.close(writing)

    @property
    def process(self) -> int:
        """Its number."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether the process is over."""
        return self._process.poll() is not None

    def ask(self, do: str, **request: Any) -> Any:
        """What a worker's method returns.

        Raises:
            RuntimeError: what it raised, or that the process ended, with the last that it printed.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **request}) + "\n")
            self._process.stdin.flush()
            line = self._answers.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise RuntimeError(
                f"The worker of {self.framework} ended with code {self._process.wait()}. "
                f"It printed last:\n{self._last_lines()}"
            )
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"{self.framework}: {answer['error']}")
        return answer["value"]

    def _last_lines(self) -> str:
        """The end of what the process and its libraries printed."""
        self._printed.seek(0)
        lines = self._printed.read().decode(errors="replace").splitlines()
        return "\n".join(each for each in lines if each.strip())[-2000:] or "(nothing)"

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it ended before it read the last request
            self._process.stdin.close()
        self._process.wait()
        self._answers.close()
        self._printed.close()
