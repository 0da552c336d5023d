"""The benchmark's networks compute the right results, in narrow versions on small data."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import mixnet as mx
from tests.benchmarks.networks import in_gluon, in_jax
from tests.benchmarks.networks.case import CASES, TINY, case
from tests.benchmarks.networks.client import Client

PARAMETERS = {  # millions, from the papers and from counting by hand
    "lenet": 0.43,
    "resnet18": 11.7,
    "resnet50": 25.6,
    "vgg16": 138.4,
    "googlenet": 7.0,
    "lstm": 6.5 + 6.77 + 6.51,
    "transformer": 4 * 3.152,
}


@pytest.mark.parametrize("name", TINY)
def test_gluon_computes_what_jax_by_hand_does(name, tmp_path):
    start = str(tmp_path / "start")
    ours = in_gluon.Contender(mx, TINY[name], "hybridized", None)
    ours.save(start)
    by_hand = in_jax.Contender(TINY[name], "jit", start)
    out = by_hand.numpy(by_hand.predict())
    np.testing.assert_allclose(ours.numpy(ours.predict()), out, rtol=1e-4, atol=1e-6)
    for _ in range(2):  # the second loss depends on the first step's gradients
        loss = float(by_hand.train())
        assert ours.numpy(ours.train()).mean() == pytest.approx(loss, rel=2e-3)


def test_hybridized_training_changes_the_parameters_in_the_same_way(tmp_path):
    start = str(tmp_path / "start")
    first = in_gluon.Contender(mx, TINY["transformer"], "imperative", None)
    before = first.numpy(first.predict())
    first.save(start)
    second = in_gluon.Contender(mx, TINY["transformer"], "hybridized", start)
    first.train()
    second.train()
    after = first.numpy(first.predict())
    assert np.abs(after - before).max() > 1e-4
    np.testing.assert_allclose(second.numpy(second.predict()), after, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_sizes_are_the_papers(name):
    net = in_gluon.network(mx, CASES[name])
    net.infer_shape(mx.nd.zeros(CASES[name].shape))
    count = sum(
        np.prod(each.shape) for each in net.collect_params().values() if each.grad_req != "null"
    )
    assert count / 1e6 == pytest.approx(PARAMETERS[name], rel=0.01)


def test_case_by_name():
    assert case("tiny-lstm") is TINY["lstm"]
    assert case("lstm").labels == case("lstm").items == 700
    assert (case("transformer").items, case("transformer").labels) == (2048, 16)
    x, y = case("lstm").data()
    assert x.shape == (35, 20) and x.max() < 10_000 and y.shape == (700,)


def test_a_worker_answers_and_names_what_failed(tmp_path):
    client = Client([sys.executable], "mixnet", 1)
    try:
        which = {"name": "tiny-lenet", "variant": "hybridized"}
        client.ask("build", parameters=None, **which)
        client.ask("results", steps=2, path=str(tmp_path / "results.npz"), **which)
        with np.load(tmp_path / "results.npz") as file:
            assert file["out"].shape == (2, 10)
            assert file["losses"].shape == (2,) and np.isfinite(file["losses"]).all()
        assert client.ask("time", mode="training", steps=3, **which) > 0
        with pytest.raises(RuntimeError, match="KeyError: 'alexnet'"):
            client.ask("build", name="alexnet", variant="hybridized", parameters=None)
    finally:
        client.close()


def test_the_end_of_a_worker_is_reported_with_what_it_printed(tmp_path):
    (tmp_path / "short_lived.py").write_text(
        "import sys\nprint('no answer')\nsys.stdin.readline()\nprint('no memory')\nraise SystemExit(3)\n"
    )
    client = Client(["env", f"PYTHONPATH={tmp_path}", sys.executable], "rival", 1, "short_lived")
    try:
        with pytest.raises(
            RuntimeError, match=r"(?s)rival ended with code 3.*no answer\nno memory"
        ):
            client.ask("build")
        assert client.has_ended
    finally:
        client.close()
