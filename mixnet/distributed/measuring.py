"""Measure how a training step scales with processes on this machine, and where its time goes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mixnet.array_like import shape_of
from mixnet.base import AttributeKindError, AttributeTypeError, AttributeValueError, MXNetError
from mixnet.process.source import notebook_shell
from mixnet.units import size_text, time_text

ORIGIN = "processes of one machine"
"""How the points of ``measure`` were obtained, in the words of ``ScalingView``."""

_MOST_WORKERS = 64
_LAST_LINES = 25  # lines of a job's output in an error
_PROGRESS_SECONDS = 0.3  # seconds between two updates of the progress line

STATUS_FILE = "status"
"""The file in which the first worker of a job reports its progress."""


class MeasureError(MXNetError, RuntimeError):
    """A job that was to be measured has failed."""


@dataclass(frozen=True)
class MeasuredStep:
    """A training step with some workers; times are seconds, medians over repeats.

    Args:
        workers: processes that trained together.
        seconds: of a whole step.
        fastest: of the fastest repeat.
        slowest: of the slowest repeat.
        compute: forward, backward and update, measured without the exchange; mean over workers.
        exchange: of the gradients, measured alone, after all workers have arrived.
        waiting: for the slowest worker; mean over workers.
        message: one exchange of a few bytes.
        sent: bytes that a worker sent in a step, by the kernel's count of its connections; None
            where the system does not count them.
    """

    workers: int
    seconds: float
    fastest: float
    slowest: float
    compute: float
    exchange: float
    waiting: float
    message: float
    sent: float | None


@dataclass(frozen=True)
class Measured:
    """The result of ``measure``. ``mx.widgets.ScalingView`` draws it.

    Args:
        label: what was measured.
        batch: samples per worker and step.
        gradient_bytes: of all gradients.
        device_seconds: simulated computing time; None: the network was computed.
        repeats: measurements per median.
        steps: one for each number of workers, in ascending order.
    """

    label: str
    batch: int
    gradient_bytes: int
    device_seconds: float | None
    repeats: int
    steps: tuple[MeasuredStep, ...]

    def to_dict(self) -> dict[str, Any]:
        """A run of ``mx.widgets.ScalingView``: ``thr``, ``lo`` and ``hi`` are total samples per second."""
        points = []
        for step in self.steps:
            samples = step.workers * self.batch
            parts = {key: value for key, value in asdict(step).items() if key in _PARTS}
            points.append(
                {
                    "n": step.workers,
                    "thr": samples / step.seconds,
                    "lo": samples / step.slowest,
                    "hi": samples / step.fastest,
                    "repeat": self.repeats,
                    **parts,
                }
            )
        return {
            "label": self.label,
            "origin": ORIGIN,
            "batch": self.batch,
            "bytes": self.gradient_bytes,
            "points": points,
        }

    def __repr__(self) -> str:
        lines = [
            f"{self.label}: batch {self.batch} a worker, {size_text(self.gradient_bytes)} of gradients",
            "workers        step   computing    exchange     waiting        sent",
        ]
        for step in self.steps:
            times = (step.seconds, step.compute, step.exchange, step.waiting)
            sent = "-" if step.sent is None else size_text(step.sent)
            row = [
                f"{step.workers:7}",
                *(f"{time_text(each):>11}" for each in times),
                f"{sent:>11}",
            ]
            lines.append(" ".join(row))
        return "\n".join(lines)


_PARTS = ("compute", "exchange", "waiting", "message", "sent")


def measure(
    network: Any,
    data: Any,
    workers: Sequence[int] = (1, 2),
    *,
    steps: int = 10,
    repeats: int = 5,
    device_seconds: float | None = None,
    compression: Mapping[str, Any] | None = None,
    label: str | None = None,
    timeout: float = 300.0,
    progress: bool | None = None,
) -> Measured:
    """Train a network for some steps in processes on this machine, and measure where the time of a step goes.

    For each count of workers as many processes start (``mixnet-launch``), which takes some
    seconds. Each has a copy of the network and its own ``dist_sync`` store; the loss is the mean
    of the squared outputs. First its steps run as in any program, where communication may hide
    behind computing; then each part of a step runs by itself and is waited for.

    Args:
        network: an initialized ``gluon.HybridBlock`` of one input. It is hybridized here.
        data: the batch of one worker, ``(batch, ...)``, an NDArray.
        workers: numbers of processes. They share the cores of this machine.
        steps: per repeat.
        repeats: each point is their median.
        device_seconds: how long computing a step takes on a device that each worker has to itself. Workers
            then sleep so long in place of computing on cores which they share: what is measured
            of exchanges is real.
        compression: of gradients, as ``gluon.Trainer`` takes it.
        label: of the measurement; by default the network's name.
        timeout: of one job, in seconds.
        progress: whether a line says what is being measured, until it is done; by default in notebooks and
            terminals.

    Raises:
        AttributeTypeError: ``network`` or ``data`` has the wrong type.
        AttributeValueError: a number is out of range.
        MeasureError: a job failed, or took longer than ``timeout``; shows its output.
    """
    _check_arguments(network, data, steps, repeats, timeout, device_seconds)
    counts = _counts(workers)
    with tempfile.TemporaryDirectory() as folder:
        _export(network, data, Path(folder))
        settings = {
            "steps": int(steps),
            "repeats": int(repeats),
            "device_seconds": device_seconds,
            "compression": None if compression is None else dict(compression),
        }
        Path(folder, "settings.json").write_text(json.dumps(settings), encoding="utf-8")
        status = _Status(counts, progress)
        try:
            answers = [_run(count, folder, timeout, status) for count in counts]
        except BaseException:
            status.end()
            raise
        status.end(is_done=True)
    return Measured(
        label or str(getattr(network, "name", type(network).__name__)),
        int(data.shape[0]),
        int(answers[0].pop("gradient_bytes")),
        device_seconds,
        int(repeats),
        tuple(MeasuredStep(**{key: each[key] for key in _FIELDS}) for each in answers),
    )


def _check_arguments(
    network: object,
    data: object,
    steps: int,
    repeats: int,
    timeout: float,
    device_seconds: float | None,
) -> None:
    if not callable(getattr(network, "export", None)):
        raise AttributeTypeError(
            f"measure: network must be a gluon.HybridBlock, which can be exported to other processes, not "
            f"{type(network).__name__}."
        )
    if not callable(getattr(data, "asnumpy", None)) or not shape_of(data):
        raise AttributeTypeError(
            "measure: data must be an NDArray with the batch of one worker, (batch, ...), not "
            f"{type(data).__name__}."
        )
    if min(steps, repeats) < 1 or not timeout > 0:
        raise AttributeValueError(
            f"measure: steps, repeats and timeout must be above 0, not {steps}, {repeats} and {timeout}."
        )
    if device_seconds is not None and not 0 < device_seconds < 60:
        raise AttributeValueError(
            f"measure: device_seconds={device_seconds}: expected seconds above 0 and below 60, or None."
        )


_FIELDS = tuple(MeasuredStep.__dataclass_fields__)


def _counts(workers: Sequence[int]) -> list[int]:
    try:
        counts = sorted(int(each) for each in workers)
        is_right = all(int(each) == each for each in workers)
    except (TypeError, ValueError):
        counts, is_right = [], False
    if not (
        is_right
        and counts
        and counts[0] >= 1
        and counts[-1] <= _MOST_WORKERS
        and len(set(counts)) == len(counts)
    ):
        raise AttributeKindError(
            f"measure: workers={workers!r}: expected different counts of processes from 1 to "
            f"{_MOST_WORKERS}, such as (1, 2, 4)."
        )
    return counts


def _export(network: Any, data: Any, folder: Path) -> None:
    network.hybridize()
    network(data).wait_to_read()  # an error of the network is the caller's
    network.export(str(folder / "network"))
    np.save(folder / "data.npy", data.asnumpy())


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


class _Status:
    """A progress line, which is overwritten in place.

    Args:
        counts: of workers, one a job.
        is_shown: None: in notebooks and terminals.
    """

    def __init__(self, counts: Sequence[int], is_shown: bool | None):
        self._is_notebook = notebook_shell() is not None
        # In a notebook, stderr would be red.
        self._out = sys.stdout if self._is_notebook else sys.stderr
        self._is_shown = self._is_notebook or self._out.isatty() if is_shown is None else is_shown
        self._counts, self._length, self._begin = list(counts), 0, time.monotonic()

    def show(self, count: int, text: str) -> None:
        """Replace the line.

        Args:
            count: workers of the job that runs.
            text: what it is doing.
        """
        job = f"job {self._counts.index(count) + 1} of {len(self._counts)}"
        workers = f"{count} worker{'' if count == 1 else 's'}"
        seconds = time.monotonic() - self._begin
        self._write(f"measure: {job}, {workers}: {text or 'starting'} ({seconds:.0f} s)")

    def end(self, is_done: bool = False) -> None:
        """Remove the line; a notebook keeps how long it took, as it keeps an output that is empty."""
        self._write("")
        if is_done and self._is_shown and self._is_notebook:
            counts = ", ".join(map(str, self._counts))
            print(f"measured {counts} workers in {time.monotonic() - self._begin:.0f} s")

    def _write(self, line: str) -> None:
        if self._is_shown and (line or self._length):
            self._out.write(f"\r{line:<{self._length}}" + ("" if line else "\r"))
            self._out.flush()
            self._length = len(line)


def _run(count: int, folder: str, timeout: float, status: _Status) -> dict[str, Any]:
    """Run a job and return the results that its first worker wrote."""
    answer, doing = Path(folder, "answer.json"), Path(folder, STATUS_FILE)
    answer.unlink(missing_ok=True)
    doing.unlink(missing_ok=True)
    command = local_job(count, ["-m", "mixnet.tools.measured_job", folder])
    root = str(Path(__file__).parents[2])
    paths = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    environment = {key: value for key, value in os.environ.items() if not key.startswith("DMLC_")}
    environment["MIXNET_SHARED_MEMORY"] = "0"  # the processes stand for several machines
    job = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**environment, "PYTHONPATH": paths},
    )
    try:
        out = _output(job, timeout, lambda: status.show(count, _read(doing)))
        status.show(count, _read(doing))  # a short job may have ended between two looks
    except subprocess.TimeoutExpired:
        job.terminate()  # the launcher ends the processes that it started
        out, _ = job.communicate()
        raise MeasureError(
            f"measure: {count} workers had not ended after {timeout:g} s. Use fewer steps, or a larger "
            f"timeout. They printed:\n{_end_of(out)}"
        ) from None
    except BaseException:
        job.terminate()
        job.wait()
        raise
    if job.returncode or not answer.exists():
        raise MeasureError(
            f"measure: the job of {count} workers failed (exit code {job.returncode}). It "
            f"printed:\n{_end_of(out)}"
        )
    measured: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
    return measured


def _output(job: subprocess.Popen[str], timeout: float, look: Callable[[], None]) -> str:
    """The output of a job until its end; ``look`` is called now and then.

    Raises:
        TimeoutExpired: it takes too long.
    """
    end = time.monotonic() + timeout
    while True:
        look()
        left = end - time.monotonic()
        try:
            return job.communicate(timeout=max(0.0, min(left, _PROGRESS_SECONDS)))[0]
        except subprocess.TimeoutExpired:
            if left <= _PROGRESS_SECONDS:
                raise


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:  # not written yet
        return ""


def _end_of(text: str) -> str:
    return "\n".join(text.splitlines()[-_LAST_LINES:])
