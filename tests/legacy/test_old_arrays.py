"""Arrays that programs of MXNet's time make: the results are those of NumPy 1.23."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from mixnet.legacy import old_arrays
from tests.legacy.restored import taken_back


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    with taken_back():
        old_arrays.restore()
        yield


RAGGED: dict[str, tuple[Callable[[], Any], tuple[int, ...], type]] = {
    "lists": (lambda: np.array([[1, 2], [3]]), (2,), list),
    "pairs": (lambda: np.array([(np.ones(3), 1), (np.ones(3), 2)]), (2, 2), np.ndarray),
    "arrays": (lambda: np.asarray([np.ones(2), np.ones(3)]), (2,), np.ndarray),
    "numbers of axes": (lambda: np.asanyarray([np.ones((2, 3)), np.ones(3)]), (2,), np.ndarray),
    "mixed": (lambda: np.array([1, [2, 3]]), (2,), int),
    "positions": (lambda: np.array([[1], [2, 3]], None, copy=True, ndmin=2), (1, 2), list),
    "nested": (lambda: np.array([[[1, 2], [3]], [[4], [5]]]), (2, 2), list),
}


@pytest.mark.parametrize("case", RAGGED)
def test_ragged_sequences_become_objects(case: str) -> None:
    make, shape, kind = RAGGED[case]
    with pytest.warns(np.exceptions.VisibleDeprecationWarning, match="dtype=object") as warned:
        array = make()
    assert array.dtype == object and array.shape == shape and type(array.flat[0]) is kind
    assert warned[0].filename == __file__


def test_a_dtype_that_is_given_is_needed() -> None:
    with pytest.raises(ValueError, match="inhomogeneous"):
        np.array([[1, 2], [3]], dtype=float)
    with pytest.raises(ValueError, match="inhomogeneous"):
        np.asarray([np.ones(2), np.ones(3)], "float32")
    with (
        pytest.warns(np.exceptions.VisibleDeprecationWarning),
        pytest.raises(ValueError, match="could not broadcast"),
    ):
        np.array([np.ones((2, 3)), np.ones((2, 4))])


def test_other_arrays_are_as_ever() -> None:
    assert np.array([[1, 2], [3, 4]], "int8", copy=True).tolist() == [[1, 2], [3, 4]]
    records = np.zeros(2, "i4").view(np.recarray)
    assert np.asanyarray(records) is records and type(np.asarray(records)) is np.ndarray
    assert pickle.loads(pickle.dumps(np.array)) is np.array
    whole = np.ones(2, "f4")
    assert np.array(whole, copy=False) is whole and np.array(whole, "f8", copy=False).dtype == "f8"
    with pytest.raises(ValueError, match="copy"):
        np.asarray(whole, "f8", copy=False)
    before = np.array
    old_arrays.restore()
    assert np.array is before


def test_numbers_are_printed_without_their_type() -> None:
    assert repr([np.float64(0.5), np.int32(3), np.bool_(True)]) == "[0.5, 3, True]"
    assert repr(("accuracy", np.float32(1.5))) == "('accuracy', 1.5)"


def test_a_setting_of_the_program_stays() -> None:
    np.set_printoptions(legacy="1.13")
    old_arrays.restore()
    assert np.get_printoptions()["legacy"] == "1.13"
