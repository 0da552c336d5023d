"""Networks trained in float64, against MXNet 1.9.1: they agree in eight digits."""

from __future__ import annotations

import json

import numpy as np
import pytest

import mixnet as mx
from tests.parity.record_float64 import FIXTURE, NETWORKS, trained

ANSWERS = json.loads(FIXTURE.read_text())


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_train_as_in_mxnet(name: str) -> None:
    actual, expected = trained(mx, name), ANSWERS[name]
    assert set(actual) == set(expected)
    for key, numbers in expected.items():
        limit = 1e-6 if key == "prediction" else 1e-8  # of all of a network, after its step
        np.testing.assert_allclose(actual[key], numbers, rtol=limit, atol=1e-9, err_msg=key)
