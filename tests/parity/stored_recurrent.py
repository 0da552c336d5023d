"""Names, graphs and numbers of recurrent networks that MXNet 1.9.1 computed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

_FIXTURES = Path(__file__).with_name("fixtures")
FACTS = json.loads((_FIXTURES / "recurrent.json").read_text())
_ARRAYS = np.load(_FIXTURES / "recurrent.npz")


def assert_numbers_of_mxnet(code: str, actual: list[np.ndarray]) -> None:
    """Compare arrays with those that are stored under a code, in order."""
    stored = [key for key in _ARRAYS.files if key.rpartition("|")[0] == code]
    assert len(actual) == len(stored)
    for i, each in enumerate(actual):
        np.testing.assert_allclose(each, _ARRAYS[f"{code}|{i}"], rtol=2e-4, atol=2e-5)
