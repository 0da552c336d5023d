"""Metrics tell what MXNet 1.9.1 tells, of late and over all time, whenever they are asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as onp
import pytest

import mixnet as mx
from tests.metric.batches import CASES, run

RECORDED = json.loads((Path(__file__).parent / "fixtures" / "batches.json").read_text())


def _same(found: Any, wanted: Any) -> None:
    if isinstance(wanted, list):
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted, strict=True):
            _same(a, b)
    elif isinstance(wanted, str):
        assert found == wanted
    else:
        onp.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("name", sorted(CASES))
def test_what_mxnet_tells(name: str) -> None:
    _same(run(mx, name), RECORDED[name])
