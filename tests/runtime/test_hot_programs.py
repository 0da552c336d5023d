"""Frequently run programs with convolutions are recompiled with libraries that cannot be stored on disk."""

from __future__ import annotations

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.ops.lowering import onednn
from mixnet.passes.choose_layout import cache_folder
from mixnet.runtime.programs import executable_cache

pytestmark = pytest.mark.usefixtures("compiling_at_once")


def test_a_frequently_run_program_is_recompiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executable_cache, "HOT_RUNS", 3)
    monkeypatch.setattr("mixnet.passes.choose_layout.ONEDNN_LEAST_HOT", 0)
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
