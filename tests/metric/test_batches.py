"""Metrics have the values of MXNet 1.9.1, recent and overall, whenever they are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as onp

import mixnet as mx
from tests.each_record import each_record
from tests.metric.batches import CASES, run

RECORDED = json.loads((Path(__file__).parent / "fixtures" / "batches.json").read_text())


def _same(actual: Any, expected: Any) -> None:
    if isinstance(expected, list):
        assert len(actual) == len(expected)
        for a, b in zip(actual, expected, strict=True):
            _same(a, b)
    elif isinstance(expected, str):
        assert actual == expected
    else:
        onp.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-12)


@each_record("name", sorted(CASES))
def test_metrics_give_the_numbers_of_mxnet(name: str) -> None:
    _same(run(mx, name), RECORDED[name])
