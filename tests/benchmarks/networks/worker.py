"""A process that runs one framework's networks and executes commands, one per line.

``python -m tests.benchmarks.networks.worker FRAMEWORK THREADS``: requests come on standard input
and answers go to standard output, one JSON object a line. It runs under Python 3.10 as well.
"""

from __future__ import annotations

import gc
import time
from typing import Any

import numpy as np

from tests.benchmarks.networks.case import case
from tests.benchmarks.serving import serve


def _framework(name: str, threads: int) -> Any:
    """A function ``(case, variant, parameters) -> contender``."""
    if name == "torch":
        from tests.benchmarks.networks import in_torch

        return in_torch.contender(threads)
    if name == "jax":
        from tests.benchmarks.networks import in_jax

        return in_jax.Contender
    import importlib

    from tests.benchmarks.networks import in_gluon

    mx = importlib.import_module(name)
    return lambda *inputs: in_gluon.Contender(mx, *inputs)


class Worker:
    """Contenders by ``(case, variant)``."""

    def __init__(self, framework: Any):
        self._framework = framework
        self._contenders: dict[tuple[str, str], Any] = {}

    def build(self, name: str, variant: str, parameters: str | None) -> None:
        """Make a contender."""
        self._contenders[name, variant] = self._framework(case(name), variant, parameters)

    def drop(self) -> None:
        """Forget all contenders."""
        self._contenders.clear()
        gc.collect()

    def save(self, name: str, variant: str, path: str) -> None:
        """Write a contender's parameters."""
        self._contenders[name, variant].save(path)

    def results(self, name: str, variant: str, steps: int, path: str) -> None:
        """Write outputs of a prediction, then the losses of some training steps."""
        contender = self._contenders[name, variant]
        out = contender.numpy(contender.predict())
        losses = [np.mean(contender.numpy(contender.train())) for _ in range(steps)]
        np.savez(path, out=out, losses=np.array(losses, np.float64))

    def time(self, name: str, variant: str, mode: str, steps: int) -> float:
        """Seconds of some steps in a row, after one more; ``mode`` is "inference" or "training".

        In the first step of a turn caches, memory and threads are those of another contender.
        """
        contender = self._contenders[name, variant]
        step = contender.predict if mode == "inference" else contender.train
        step()
        contender.finish()
        start = time.perf_counter()
        for _ in range(steps):
            step()
        contender.finish()
        return time.perf_counter() - start


if __name__ == "__main__":
    serve(lambda name, threads: Worker(_framework(name, threads)))
