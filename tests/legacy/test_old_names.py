"""Programs read names that NumPy and Python had at MXNet's time."""

from __future__ import annotations

import collections
import fractions
import inspect
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from mixnet.legacy import old_names
from tests.legacy.restored import taken_back


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    with taken_back():
        old_names.restore()
        yield


def test_types() -> None:
    assert (np.float, np.int, np.object, np.str, np.complex) == (float, int, object, str, complex)
    assert np.array([1.5, 2.5]).astype(np.int).tolist() == [1, 2]
    assert np.float_ is np.float64 and np.int0(3.7) == 3 and np.bool8 is np.bool_
    assert np.zeros(2, np.float).dtype == "float64" and np.dtype(np.unicode_) == "U"


def test_functions_and_numbers() -> None:
    assert (np.product([2, 3]), np.alltrue([True, False]), np.sometrue([0, 1])) == (6, False, True)
    assert np.asscalar(np.array([3.5])) == 3.5 and np.cumproduct([2, 3]).tolist() == [2, 6]
    assert np.asfarray([1, 2]).dtype == "float64" and np.asfarray([1], "float32").dtype == "float32"
    assert np.asfarray([1.5], "int32").tolist() == [1.5]
    assert np.msort([[3, 1], [2, 5]]).tolist() == [[2, 1], [3, 5]]
    assert np.lib.pad([1], 1, mode="constant").tolist() == [0, 1, 0] and np.math.sqrt(4) == 2
    assert np.cast["int32"]([1.5]).dtype == "int32" and np.cast[np.float32](2).tolist() == 2.0
    assert np.float32 in np.sctypes["float"] and np.isnan(np.NAN)
    assert np.isnan(np.NaN) and np.Inf == np.PINF == -np.NINF == float("inf")
    assert issubclass(np.VisibleDeprecationWarning, UserWarning)
    np.warnings.filterwarnings("ignore", category=np.VisibleDeprecationWarning)


def test_bytes_as_an_array() -> None:
    values = np.array([1, 256], "uint16")
    read = np.fromstring(values.tobytes(), np.uint16)
    assert read.tolist() == [1, 256]
    read[0] = 7  # a copy
    assert np.fromstring("ab", dtype=np.uint8, count=1).tolist() == [97]
    assert np.fromstring("1 2 3", sep=" ").tolist() == [1, 2, 3]
    assert np.fromstring("1,2", int, sep=",").tolist() == [1, 2]


def test_python() -> None:
    assert collections.Iterable is collections.abc.Iterable
    assert isinstance({}, collections.Mapping) and issubclass(list, collections.MutableSequence)
    assert fractions.gcd(12, 18) == 6 and threading.current_thread().isAlive()
    before = time.clock()
    assert 0 < before <= time.clock() <= time.process_time()


def test_parameters_of_a_function() -> None:
    def function(a, b=2, *c, **d):
        raise AssertionError

    assert inspect.getargspec(function) == (["a", "b"], "c", "d", (2,))
    with pytest.raises(ValueError, match="keyword-only"):
        inspect.getargspec(lambda *, key: key)


def test_names_that_are_there_stay() -> None:
    assert np.bool is np.bool_ and np.long is not int
    before = np.product
    old_names.restore()
    assert np.product is before
