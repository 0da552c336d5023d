"""A small perceptron's training step once everything is compiled: python -m
tests.benchmarks.steady [--alone] [--profile] [--layers NUMBER]

Two dense layers, or more, a batch of 64. ``bare`` waits for the loss alone; ``usual`` is the loop as
people write it, with a metric that is updated and the loss printed in every step. What Python
needs is the step without the time that the compiled programs run. ``--alone`` runs one loop after the
other, each for many steps; ``--profile`` lists the functions that a step calls instead.
"""

from __future__ import annotations

import argparse
import copy
import cProfile
import pstats
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.runtime.record import segment
from tests.benchmarks.timing import interleaved_with_least

BATCH, INPUTS, HIDDEN, CLASSES = 64, 32, 64, 10
REPEATS, WARMUP, ALONE = 400, 80, 1500


def pictures() -> tuple[np.ndarray, np.ndarray]:
    """A batch, and its classes."""
    rng = np.random.default_rng(0)
    return rng.random((BATCH, INPUTS), np.float32), rng.integers(0, CLASSES, BATCH)


def stepper(
    hybridize: bool, usual: bool, optimizer: str = "sgd", layers: int = 1
) -> Callable[[], object]:
    """A training step with mixnet, of a network with so many hidden layers."""
    x, y = map(nd.array, pictures())
    net = gluon.nn.HybridSequential()
    for _ in range(layers):
        net.add(gluon.nn.Dense(HIDDEN, activation="relu"))
    net.add(gluon.nn.Dense(CLASSES))
    net.initialize(mx.init.Xavier())
    if hybridize:
        net.hybridize(static_alloc=True, static_shape=True)
    net(x).wait_to_read()
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), optimizer, {"learning_rate": 0.01})
    metric = mx.metric.Accuracy()

    def step() -> None:
        with autograd.record():
            output = net(x)
            loss = loss_of(output, y)
        loss.backward()
        trainer.step(BATCH)
        if usual:
            metric.update([y], [output])
            loss.mean().asscalar()
        else:
            loss.wait_to_read()

    return step


def torch_stepper(usual: bool, layers: int = 1) -> Callable[[], object]:
    """The same with PyTorch."""
    import torch

    torch.set_num_threads(1)
    x, y = map(torch.from_numpy, pictures())
    linear = torch.nn.Linear
    hidden: list[Any] = []
    for number in range(layers):
        hidden += (linear(HIDDEN if number else INPUTS, HIDDEN), torch.nn.ReLU())
    net = torch.nn.Sequential(*hidden, linear(HIDDEN, CLASSES))
    loss_of = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    hits: list[Any] = []

    def step() -> None:
        optimizer.zero_grad()
        output = net(x)
        loss = loss_of(output, y)
        loss.backward()
        optimizer.step()
        if usual:
            hits[:] = [(output.argmax(1) == y).sum()]
            loss.item()

    return step


def contenders(layers: int = 1) -> dict[str, Callable[[], object]]:
    """All loops; those of PyTorch if it is there."""
    result = {}
    for usual in (False, True):
        style = "usual" if usual else "bare"
        result[f"{style}, imperative"] = stepper(False, usual, layers=layers)
        result[f"{style}, hybridized"] = stepper(True, usual, layers=layers)
        try:
            result[f"{style}, PyTorch eager"] = torch_stepper(usual, layers)
        except ImportError:
            print("(PyTorch is not installed: pip install torch for its rows)")
    result["bare, imperative, adam"] = stepper(False, False, "adam", layers)
    return result


class Programs:
    """Sums the time that compiled programs take of the calls in a ``with`` block."""

    def __enter__(self) -> Programs:
        self.seconds, self._executable = 0.0, segment.executable

        timed_programs: dict[Any, Any] = {}

        def timed(key: Any, result: Any) -> Any:
            program = self._executable(key, result)
            same = timed_programs.get(program)
            if same is None:
                same = timed_programs[program] = copy.copy(program)
                same.call = partial(self._run, program)
            return same

        segment.executable = timed  # type: ignore[assignment]
        return self

    def _run(self, program: Any, *arrays: Any) -> Any:
        start = time.perf_counter()
        results = program.call(*arrays)
        self.seconds += time.perf_counter() - start
        return results

    def __exit__(self, *error: object) -> None:
        segment.executable = self._executable


def programs_of(step: Callable[[], object]) -> float:
    """Median seconds that the programs of a step run: they have ended when their call returns."""
    times = []
    for _ in range(REPEATS // 4):
        with Programs() as programs:
            step()
            nd.waitall()
        times.append(programs.seconds)
    return statistics.median(times)


def alone(step: Callable[[], object]) -> tuple[float, float]:
    """Median seconds of a step in a loop of its own, and of its programs."""
    rows = []
    for _ in range(WARMUP):
        step()
    with Programs() as programs:
        for _ in range(ALONE):
            before, start = programs.seconds, time.perf_counter()
            step()
            rows.append((time.perf_counter() - start, programs.seconds - before))
    seconds, in_programs = zip(*rows, strict=True)
    return statistics.median(seconds), statistics.median(in_programs)


def profile(step: Callable[[], object]) -> None:
    """Print the functions of Python that a step calls, those with the most time of their own first."""
    recorder = cProfile.Profile()
    recorder.enable()
    for _ in range(REPEATS):
        step()
    recorder.disable()
    result = pstats.Stats(recorder)
    print(f"{result.total_calls / REPEATS:.0f} calls a step")  # type: ignore[attr-defined]
    result.sort_stats("tottime").print_stats(25)


def main() -> None:
    """Print microseconds a step, and how many of them are Python's."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--layers", type=int, default=1, help="hidden layers")
    options = parser.parse_args()
    with mx.runtime.compiling_at_once():
        if options.profile:
            step = stepper(False, False, layers=options.layers)
            for _ in range(WARMUP):
                step()
            profile(step)
            return
        steps = contenders(options.layers)
        if options.alone:
            for name, step in steps.items():
                seconds, programs = alone(step)
                print(
                    f"perceptron step: {name:24} {seconds * 1e6:5.0f} us, of these "
                    f"programs {programs * 1e6:4.0f}, Python {(seconds - programs) * 1e6:4.0f}"
                )
            return
        result = interleaved_with_least(steps, REPEATS, WARMUP)
        for name, (median, least, busy) in result.items():
            row = (
                f"perceptron step: {name:24} {median * 1e6:5.0f} us, least {least * 1e6:5.0f}, "
                f"processor {busy * 1e6:5.0f}"
            )
            if "PyTorch" not in name:
                programs = programs_of(steps[name])
                row += f"; programs {programs * 1e6:4.0f}, Python {(median - programs) * 1e6:4.0f}"
            print(row)


if __name__ == "__main__":
    main()
