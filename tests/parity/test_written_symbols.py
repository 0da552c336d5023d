"""Symbol files that mixnet writes: the real MXNet 1.9.1 loaded these very texts and ran them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mixnet as mx
from tests.parity.networks import NETWORKS, make

FIXTURES = Path(__file__).parent / "fixtures" / "written"


@pytest.mark.parametrize("name", NETWORKS)
def test_mxnet_gets_the_same_numbers(name: str) -> None:
    symbol, values = make(name)
    assert symbol.tojson() == (FIXTURES / f"{name}.json").read_text()
    arrays = {key: mx.nd.array(value) for key, value in values.items()}
    states = {key: arrays.pop(key) for key in symbol.list_auxiliary_states()}
    executor = symbol.bind(mx.cpu(), arrays, grad_req="null", aux_states=states)
    stored = np.load(FIXTURES / f"{name}-outputs.npz")
    outputs = executor.forward()
    assert len(outputs) == len(stored.files)
    for actual, key in zip(outputs, stored.files, strict=True):
        np.testing.assert_allclose(actual.asnumpy(), stored[key], rtol=1e-5, atol=1e-6)
