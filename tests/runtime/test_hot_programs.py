"""Frequently run programs with convolutions are recompiled with libraries that cannot be stored on disk."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.ops.lowering import onednn
from mixnet.passes.choose_layout import cache_folder
from mixnet.runtime.compile import background
from mixnet.runtime.interpret import patience
from mixnet.runtime.programs import executable_cache


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small programs are frequently run ones after three runs."""
    monkeypatch.setattr(executable_cache, "HOT_RUNS", 3)
    monkeypatch.setattr("mixnet.passes.choose_layout.ONEDNN_LEAST_HOT", 0)


@pytest.mark.usefixtures("compiling_at_once")
def test_a_frequently_run_program_is_recompiled_once() -> None:
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Conv2D(8, 3, in_channels=4), gluon.nn.Flatten(), gluon.nn.Dense(5))
    net.initialize()
    net.hybridize()
    x = nd.array(np.random.default_rng(0).normal(size=(2, 4, 9, 11)))
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.0})
    losses, compiled = [], []
    for _ in range(10):
        with autograd.record():
            loss = (net(x) ** 2).sum()
        loss.backward()
        trainer.step(1)
        losses.append(loss.asscalar())
        compiled.append(mx.runtime.counters()["programs_compiled"])
    np.testing.assert_allclose(losses, losses[0], rtol=1e-5)
    assert len(set(compiled[5:])) == 1, "compiled again and again"
    if onednn.available(cache_folder()):
        assert compiled[-1] == compiled[2] + 1
    else:
        assert compiled[-1] == compiled[2]
    assert len(set(losses[5:])) == 1  # the same program gives the same bits


@pytest.mark.skipif(not onednn.available(cache_folder()), reason="jaxlib here has no oneDNN calls")
def test_the_program_is_recompiled_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "interpreted_runs", lambda cost: 1)
    monkeypatch.setattr(patience, "runs_meanwhile", lambda cost: 1)
    monkeypatch.setattr(patience, "compiled_runs_meanwhile", lambda work, compiling: 4)
    jobs: list[Future[Any]] = []

    def submit(job: Callable[[], Any]) -> Future[Any]:
        jobs.append(background_submit(job))
        return jobs[-1]

    background_submit = background.submit
    monkeypatch.setattr(background, "submit", submit)
    net = gluon.nn.Conv2D(8, 3, in_channels=4)
    net.initialize()
    x = nd.array(np.random.default_rng(0).normal(size=(2, 4, 9, 13)))
    runs, ends = [], []
    for _ in range(12):
        runs.append(net(x).asnumpy())
        ends.append(len(jobs))
    (at,) = [n for n in range(1, 12) if ends[n] > ends[n - 1] and n > 2]
    hot = jobs[ends[at] - 1].result(timeout=60)
    assert callable(hot)
    bits = [each.tobytes() for each in runs]
    assert len(set(bits[2 : at + 4])) == 1, "it took over earlier than at a fixed run"
    assert len(set(bits[at + 4 :])) == 1
    np.testing.assert_allclose(runs[-1], runs[0], rtol=1e-4, atol=1e-5)


def test_a_program_that_cannot_be_recompiled_stays_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(patience, "interpreted_runs", lambda cost: 1)
    monkeypatch.setattr(patience, "runs_meanwhile", lambda cost: 1)
    monkeypatch.setattr(patience, "compiled_runs_meanwhile", lambda work, compiling: 1)
    tries = []

    def fail(source: object) -> None:
        tries.append(source)
        raise MemoryError("no memory for a second program")

    monkeypatch.setattr(executable_cache, "_hot", fail)
    net = gluon.nn.Conv2D(8, 3, in_channels=4)
    net.initialize()
    x = nd.array(np.random.default_rng(0).normal(size=(2, 4, 9, 15)))
    runs = [net(x).asnumpy().tobytes() for _ in range(12)]
    assert len(tries) == 1 and len(set(runs[2:])) == 1
