"""Every test starts from the same random state."""

from __future__ import annotations

import random

import numpy as np
import pytest

import mixnet as mx


@pytest.fixture(autouse=True)
def _seeds():
    random.seed(0)
    np.random.seed(0)
    mx.random.seed(0)
    yield
    mx.nd.waitall()  # what a test leaves running, or failing, is its own
    assert not mx.autograd.is_recording(), "a test left a recording scope open"
