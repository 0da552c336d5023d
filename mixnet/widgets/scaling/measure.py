"""Measure how a training step scales with the devices of one process."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax

from mixnet import config
from mixnet.base import AttributeTypeError, AttributeValueError, ContextError
from mixnet.context import Context, num_gpus, set_cpu_devices
from mixnet.ndarray.create import waitall

_SECONDS, _MOST = 0.1, 50  # how long a repeat should take, and how many steps it has at most


def measure_scaling(
    make_step: Callable[[list[Context]], Callable[[], Any]],
    devices: Sequence[int] = (1, 2, 4),
    repeats: int = 5,
    *,
    batch: int = 1,
    gradient_bytes: float | None = None,
    label: str = "training step",
    kind: str | None = None,
) -> list[dict[str, Any]]:
    """Time a step on several counts of devices, every device with a batch of its own.

    The steps for all counts are made first and run three times; then the repeats take turns, so
    that a machine that grows slower does so for all. Every repeat runs steps for about 0.1 s and
    waits for all of them.

    Args:
        make_step: called with a list of contexts, returns a function of no arguments: one step
            on all of them.
        devices: the counts.
        repeats: measurements of each count; a point is their median, its spread the slowest and the fastest.
        batch: samples of one device in a step; throughput is in samples a second.
        gradient_bytes: bytes of all gradients, for the model's all-reduce.
        label: name of what is measured.
        kind: ``cpu`` or ``gpu``; by default GPUs, if there are enough.

    Returns:
        A list of one run, ``{"label", "origin", "batch", "bytes", "points": [{"n", "thr", "lo",
        "hi", "repeat"}]}``; put lists of several batches together with ``+``. ``origin`` is
        ``real devices`` for GPUs and ``simulated host devices`` for CPU devices, which share the
        cores of one host.

    Raises:
        AttributeValueError: the counts, repeats or batch are not positive numbers.
        ContextError: there are not enough devices.
    """
    _check_arguments(devices, repeats, batch, kind)
    counts = list(devices)
    kind = _devices(kind, max(counts))
    steps: dict[int, Callable[[], Any]] = {}
    for n in counts:
        steps[n] = make_step([Context(kind, i) for i in range(n)])
        if not callable(steps[n]):
            raise AttributeTypeError(
                f"make_step: expected a function that runs one step, got {type(steps[n]).__name__}; "
                f"return the step, do not run it."
            )
    lengths = {
        n: min(max(round(_SECONDS / max(_warm(step), 1e-9)), 1), _MOST) for n, step in steps.items()
    }
    seconds: dict[int, list[float]] = {n: [] for n in counts}
    for _ in range(repeats):
        for n, step in steps.items():
            seconds[n].append(_timed(step, lengths[n]))
    points = [
        {
            "n": int(n),
            "thr": n * batch / statistics.median(seconds_a_step),
            "lo": n * batch / max(seconds_a_step),
            "hi": n * batch / min(seconds_a_step),
            "repeat": repeats,
        }
        for n, seconds_a_step in sorted(seconds.items())
    ]
    origin = "real devices" if kind == "gpu" else "simulated host devices"
    run = {
        "label": label,
        "origin": origin,
        "batch": batch,
        "bytes": gradient_bytes,
        "points": points,
    }
    return [run]


def _check_arguments(devices: Sequence[int], repeats: int, batch: int, kind: str | None) -> None:
    counts = list(devices)
    if not counts or any(int(n) != n or n < 1 for n in counts) or len(set(counts)) < len(counts):
        raise AttributeValueError(
            f"devices: expected different counts from 1, such as (1, 2, 4), got {devices!r}."
        )
    if repeats < 1 or batch <= 0:
        raise AttributeValueError(
            f"repeats and batch: expected positive numbers, got {repeats} and {batch}."
        )
    if kind not in (None, "cpu", "gpu"):
        raise AttributeValueError(f"kind: expected 'cpu' or 'gpu', got {kind!r}.")


def _devices(kind: str | None, count: int) -> str:
    """The kind of devices that are used; raises unless there are ``count``."""
    shortage: ContextError | None = None
    if kind != "gpu":  # before JAX is asked what GPUs there are, which starts it
        try:
            set_cpu_devices(max(count, config.get("MIXNET_CPU_DEVICES") or 0))
        except ContextError as error:  # it runs already
            shortage = error if len(jax.local_devices(backend="cpu")) < count else None
    if kind != "cpu" and num_gpus() >= count:
        return "gpu"
    if kind == "gpu":
        raise ContextError(f"{count} GPUs were requested, but there are {num_gpus()}.")
    if shortage is not None:
        raise shortage
    return "cpu"


def _warm(step: Callable[[], Any]) -> float:
    """Seconds of a step once it is compiled."""
    for _ in range(2):
        step()
    waitall()
    return _timed(step, 1)


def _timed(step: Callable[[], Any], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        step()
    waitall()
    return (time.perf_counter() - start) / count
