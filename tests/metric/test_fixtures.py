"""Metrics give MXNet 1.9.1's numbers after every batch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as onp

import mixnet as mx
from tests.each_record import each_record

FIXTURES = Path(__file__).parents[1] / "parity" / "fixtures"
CASES = json.loads((FIXTURES / "metrics.json").read_text())
NUMBERS = onp.load(FIXTURES / "metrics.npz")


def _same(actual: Any, expected: Any) -> None:
    names, values = actual
    assert names == expected[0]
    onp.testing.assert_allclose(values, expected[1], rtol=3e-7)


@each_record("name", sorted(k for k, case in CASES.items() if "updates" in case))
def test_the_numbers_of_mxnet(name: str) -> None:
    case = CASES[name]
    metric = mx.metric.create(case["create"], **case["kwargs"])
    updates = zip(case["updates"], case["get_after_each_update"], strict=True)
    for (label, pred), expected in updates:
        metric.update([mx.nd.array(NUMBERS[label])], [mx.nd.array(NUMBERS[pred])])
        _same(metric.get(), expected)
    if case["num_inst"] is not None:
        assert metric.num_inst == case["num_inst"]
        assert type(metric.num_inst) is type(case["num_inst"])
    actual, expected = metric.get_name_value(), case["get_name_value"]
    assert [each for each, _ in actual] == [each for each, _ in expected]
    onp.testing.assert_allclose([v for _, v in actual], [v for _, v in expected], rtol=3e-7)


def test_metrics_from_functions() -> None:
    label, pred = mx.nd.array(NUMBERS["L1"]), mx.nd.array(NUMBERS["P1"])
    custom = mx.metric.CustomMetric(lambda a, b: (a.sum() * 10.0, 4), name="cm")
    share = mx.metric.np(lambda a, b: (a == b.argmax(1)).mean(), name="x")
    for metric, case in ((custom, "custom"), (share, "np_feval")):
        metric.update([label], [pred])
        _same(metric.get(), CASES[case]["get_after_each_update"][0])
    assert str(mx.metric.create("acc").get()) == "('accuracy', nan)"
