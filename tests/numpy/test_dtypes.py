"""Dtypes and values of ``mx.np`` for every dtype, against results of MXNet 1.9.1."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as onp
import pytest

from mixnet import MXNetError, np
from tests.each_record import each_record

FACTS = json.loads(
    (Path(__file__).parent.parent / "parity" / "fixtures" / "np_dtypes.json").read_text()
)
NUMBERS = {"2": 2, "2.5": 2.5, "True": True, "-1": -1}
FUNCTIONS = sorted({key.split()[0] for key in FACTS["two"]})


def _compare(actual: Any, fact: Any, label: str) -> None:
    dtype, values = fact
    assert actual.dtype.name == dtype, label
    expected = onp.array([float(v) for v in values])
    got = actual.asnumpy().astype("float64").ravel()
    # A whole number that does not exist (0 to the power of -1) has no agreed value.
    known = onp.isfinite(expected) & (abs(expected) < 2**31 - 1)
    if dtype.startswith(("int", "uint")):
        got, expected = got[known], expected[known]
    tolerance = 2e-3 if dtype == "float16" else 1e-5
    onp.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance, err_msg=label)


def _calls(name: str) -> Any:
    for key, fact in FACTS["two"].items():
        function, left, *right = key.split()
        if function != name:
            continue
        x = onp.array([1, 0, 3])
        if left == "scalar":
            yield key, fact, (NUMBERS[right[0]], np.array(x.astype(right[1])))
        elif right[0] == "scalar":
            yield key, fact, (np.array(x.astype(left)), NUMBERS[right[1]])
        else:
            y = onp.array([1, 2, 2]).astype(right[0])
            yield key, fact, (np.array(x.astype(left)), np.array(y))


@each_record("name", FUNCTIONS)
def test_two_arrays(name: str) -> None:
    results = []  # nothing is read before all is recorded: one program is compiled
    for key, fact, arguments in _calls(name):
        if "bool" in key and name in ("hypot", "maximum", "minimum"):
            continue  # mixnet computes the pairs that MXNet refuses, and keeps the dtype with numbers
        if "uint8" in key and name in ("power", "ldexp") and "-1" in key:
            continue  # two to the 255th: no whole number, and no agreed value
        if fact == "raises":
            with pytest.raises(
                Exception,
                match=r"do not combine|must have one dtype|must have the same dtype|takes",
            ):
                getattr(np, name)(*arguments)
        else:
            results.append((getattr(np, name)(*arguments), fact, key))
    for each in results:
        _compare(*each)


@each_record("name", sorted({key.split()[0] for key in FACTS["one"]}))
def test_one_array(name: str) -> None:
    results = []
    for key, fact in FACTS["one"].items():
        function, dtype = key.split()
        # mixnet computes what MXNet refuses here: functions of booleans, order of float16.
        if function == name and fact != "raises":
            array = np.array(onp.array([1, 0, 3]).astype(dtype))
            results.append((getattr(np, name)(array), fact, key))
    for each in results:
        _compare(*each)


@pytest.mark.parametrize("name", ["mean", "sum", "std"])
def test_an_axis_must_be_an_integer(name: str) -> None:
    with pytest.raises(MXNetError, match=r"a whole number, not 1\.5"):
        getattr(np, name)(np.ones((2, 3)), axis=1.5)
