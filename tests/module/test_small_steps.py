"""What a step of a small module does in Python; counted, since times depend on the machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import mixnet as mx
from mixnet.process.collector import collector_paused
from tests.module.networks import bound

# Their functions run in this thread or in another.
ELSEWHERE = tuple(f"mixnet.{each}." for each in ("engine", "private_jax", "process", "runtime"))


def functions_called(work: Callable[[], object]) -> int:
    """The calls of functions above the runtime."""
    calls = 0

    def note(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        module = frame.f_globals.get("__name__", "")
        is_above = module.startswith("mixnet.") and not module.startswith(ELSEWHERE)
        calls += event == "call" and is_above

    with collector_paused():  # finalizers of what other tests have left are no part of the work
        sys.setprofile(note)
        try:
            work()
        finally:
            sys.setprofile(None)
    return calls


def test_a_repeated_step_calls_few_functions() -> None:
    module, batch = bound()
    module.init_optimizer(optimizer_params={"learning_rate": 0.1})

    def step() -> None:
        module.forward_backward(batch)
        module.update()

    for _ in range(3):
        step()
    assert functions_called(step) <= 145


def test_a_repeated_update_of_a_metric_calls_few_functions() -> None:
    module, batch = bound()
    module.forward(batch, is_train=True)
    metric = mx.metric.Accuracy()

    def update() -> None:
        module.update_metric(metric, batch.label)

    for _ in range(3):
        update()
    assert functions_called(update) <= 42
