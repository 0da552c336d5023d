"""Chains of operators with their gradients, called, bound and hybridized, against MXNet 1.9.1."""

from __future__ import annotations

import json
from typing import Any

import pytest

import mixnet as mx
from tests.parity.record_chains import COUNT, FIXTURE, agree, answers

CHAINS = json.loads(FIXTURE.read_text())
PARTS = 6


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.filterwarnings("ignore:The 1-th input to HybridBlock .* is not used")
def test_chains_have_the_results_and_gradients_of_mxnet(part: int) -> None:
    wrong: list[Any] = []
    for chain in CHAINS[part::PARTS]:
        for way, actual in answers(mx, chain).items():
            if not agree(actual, chain["answer"]):
                wrong.append((way, chain["statements"], actual, chain["answer"]))
    assert not wrong, "\n".join(map(str, wrong))


def test_chains_reach_many_operators() -> None:
    assert len(CHAINS) == COUNT
    text = " ".join(each for chain in CHAINS for each in chain["statements"])
    for name in ("Pooling", "LayerNorm", "batch_dot", "FullyConnected", "pick", "topk", "split"):
        assert f"F.{name}(" in text
