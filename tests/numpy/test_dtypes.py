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


def _adds(left: str, right: str) -> bool:
    """Whether MXNet adds numbers of two dtypes, and not two booleans."""
    return FACTS["two"][f"add {left} {right}"] != "raises" and {left, right} != {"bool"}


@each_record("name", FUNCTIONS)
def test_two_arrays(name: str) -> None:
    results = []  # nothing is read before all is recorded: one program is compiled
    for key, fact, arguments in _calls(name):
        if "bool" in key and name in ("hypot", "maximum", "minimum"):
            continue  # mixnet computes the pairs that MXNet refuses, and keeps the dtype with numbers
        if "uint8" in key and name in ("power", "ldexp") and "-1" in key:
            continue  # two to the 255th: no whole number, and no agreed value
        if name in ("subtract", "mod") and fact == "raises" and _adds(*key.split()[1:]):
            continue  # MXNet refuses the two only in arrays of one shape; see the next test
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


# Of [[-3], [100], [1]] and [[2, -7, 1]], by MXNet 1.9.1.
WHOLE_NUMBERS = [
    ("subtract", "int8", "int32", "int32", [[-5, 4, -4], [98, 107, 99], [-1, 8, 0]]),
    ("subtract", "uint8", "int64", "int64", [[251, 260, 252], [98, 107, 99], [-1, 8, 0]]),
    ("subtract", "int64", "uint8", "int64", [[-5, -252, -4], [98, -149, 99], [-1, -248, 0]]),
    ("subtract", "uint8", "bool", "uint8", [[252, 252, 252], [99, 99, 99], [0, 0, 0]]),
    ("subtract", "bool", "int8", "int8", [[-1, 8, 0], [-1, 8, 0], [-1, 8, 0]]),
    ("mod", "int32", "uint8", "int32", [[1, 246, 0], [0, 100, 0], [1, 1, 0]]),
    ("mod", "int8", "int64", "int64", [[1, -3, 0], [0, -5, 0], [1, -6, 0]]),
    ("mod", "bool", "int32", "int32", [[1, -6, 0], [1, -6, 0], [1, -6, 0]]),
]


@each_record(("name", "left", "right", "dtype", "expected"), WHOLE_NUMBERS)
def test_whole_numbers_of_two_dtypes(
    name: str, left: str, right: str, dtype: str, expected: list[list[int]]
) -> None:
    x, y = np.array([[-3], [100], [1]], dtype=left), np.array([[2, -7, 1]], dtype=right)
    result = getattr(np, name)(x, y)
    assert (result.dtype.name, result.tolist()) == (dtype, expected)
    diagonal = getattr(np, name)(x[:, 0], y[0])  # of one shape: MXNet refuses it
    assert diagonal.tolist() == [expected[i][i] for i in range(3)]


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
