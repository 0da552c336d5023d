"""NumPy's own functions on mx.np arrays, as in MXNet 1.9.1."""

from __future__ import annotations

import numpy as onp
import pytest

from mixnet import np
from tests.each_record import each_record


@pytest.fixture(scope="module", autouse=True)
def _arrays() -> None:
    global X
    X = np.array([[1.0, 2, 3], [4, 5, 6]])


def test_numpys_function_computes_what_ours_does_not_define() -> None:
    counts, edges = onp.histogram(X)
    assert counts.tolist() == [1, 0, 1, 0, 1, 0, 1, 0, 1, 1]
    assert edges.tolist() == [1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6]
    assert onp.histogram(X, bins=5)[0].tolist() == [1, 1, 1, 1, 2]
    with pytest.raises(NotImplementedError, match="give range="):
        np.histogram(X, 5)


@pytest.mark.parametrize("call", [lambda: onp.multiply.outer(X, X), lambda: onp.add.reduce(X)])
def test_methods_of_numpys_functions_are_type_errors(call) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(TypeError, match=r"does not take mx.np arrays: give it array.asnumpy"):
        call()


@pytest.mark.parametrize("number", [onp.float32(3), onp.float64(3), onp.int64(3)])
def test_numbers_of_numpy_compare_from_the_left(number: onp.generic) -> None:
    assert (number > X).asnumpy().tolist() == [[True, True, False], [False] * 3]
    assert (number == X).asnumpy().tolist() == [[False, False, True], [False] * 3]
    assert max(number, np.array(4.0)).item() == 4
    with pytest.raises(TypeError, match="cannot be combined"):
        assert onp.full((3,), number) > X


def test_numpy_computes_what_ours_defines_in_another_way() -> None:
    """As in MXNet 1.9.1: integers have a fractional average, all singular vectors come."""
    assert onp.average(np.array([1, 2], dtype="int32")) == 1.5
    assert [each.shape for each in onp.linalg.svd(X)] == [(2, 2), (2,), (3, 3)]
    between = onp.linspace(X[0], X[1], 3)
    assert type(between) is np.ndarray
    assert between.tolist() == [[1, 2, 3], [2.5, 3.5, 4.5], [4, 5, 6]]


def test_numpys_functions_that_ours_lacks_take_arrays_of_both() -> None:
    rest = X // onp.full((2, 3), 2.0)
    assert (type(rest), rest.dtype) == (np.ndarray, onp.float64)
    assert rest.tolist() == [[0, 1, 1], [2, 2, 3]]
    assert onp.logical_and(X, onp.array([1, 0, 1])).tolist() == [[True, False, True]] * 2


def test_functions_of_the_host_leave_numpy_arrays_to_numpy() -> None:
    """MXNet 1.9.1 converts results only where an argument is its own array."""
    rows = [[1.0, 2.0], [3.0, 5.0]]
    for sequence in (rows, onp.array(rows)):
        assert type(np.cov(sequence)) is onp.ndarray
    assert type(np.cov(np.array(rows))) is np.ndarray


def test_numpy_broadcasts_our_arrays_with_anything() -> None:
    """matplotlib does, in ``bar``; MXNet refuses."""
    ours, nothing, numbers = onp.broadcast_arrays(np.ones(2), None, onp.zeros((3, 1)))
    assert ours.shape == nothing.shape == numbers.shape == (3, 2)
    assert nothing[0, 0] is None
    assert [each.tolist() for each in np.broadcast_arrays(np.ones(2), 3)] == [[1, 1], [3, 3]]


class Column:
    """As a column of pandas: an array in all but its class."""

    def __init__(self, numbers: list[float], dtype: str):
        self._array = onp.array(numbers, dtype)
        self.dtype = self._array.dtype

    def __array__(self, dtype: object = None, copy: object = None) -> onp.ndarray:
        return self._array if dtype is None else self._array.astype(dtype)  # type: ignore[call-overload]


def test_an_array_of_a_column_has_its_dtype() -> None:
    """MXNet 1.9.1 makes int64 and float64 of such; it refuses objects."""
    assert np.array(Column([1, 2], "int64")).dtype == onp.int64
    assert np.array(Column([1, 2], "float64")).dtype == onp.float64
    assert np.array(Column([1, 2], "object")).dtype == onp.float32
    assert np.array(Column([1, 2], "int64"), dtype="float16").dtype == onp.float16


def test_arrays_without_elements_print_their_dtype() -> None:
    """As MXNet 1.9.1 prints them."""
    assert repr(np.zeros((0,), dtype="bool")) == "array([], dtype=bool)"
    assert repr(np.zeros((0, 2), dtype="bool")) == "array([], shape=(0, 2), dtype=bool)"
    assert repr(np.zeros((0,))) == "array([])"
    assert repr(np.ones((1,), dtype="bool")) == "array([ True])"


def test_ravel() -> None:
    assert X.ravel().tolist() == [1, 2, 3, 4, 5, 6]


# Dtypes of MXNet 1.9.1 with NumPy 1.23: arrays decide on the dtype beside scalars of no higher kind.
SCALARS = [
    ("x // onp.float64(2)", "float32"),
    ("onp.floor_divide(x, onp.int64(2))", "float32"),
    ("onp.logaddexp(x.astype('float16'), onp.float64(2.5))", "float16"),
    ("i // onp.int64(2)", "int32"),
    ("i.astype('uint8') // onp.int64(2)", "uint8"),
    ("i // onp.float32(2)", "float64"),
    ("np.heaviside(x, onp.float64(1))", "float32"),
    ("np.select([x > 1], [x], onp.float64(3))", "float32"),
    ("np.trapz(x, dx=onp.float64(0.5))", "float32"),
    ("np.polymul(x, np.array(2.0))", "float32"),
    ("np.intersect1d(x, np.array(2.0))", "float32"),
    ("onp.kron(np.array(2.0), x)", "float32"),
]


@each_record(("text", "dtype"), SCALARS)
def test_scalars_of_numpy_leave_the_dtype_to_arrays(text: str, dtype: str) -> None:
    names = {
        "np": np,
        "onp": onp,
        "x": np.array([1.0, 2, 3]),
        "i": np.array([1, 2, 3], dtype="int32"),
    }
    assert eval(text, names).dtype == dtype


def test_lists_of_what_numpy_dispatches_as_other_libraries_import_them() -> None:
    from mixnet.numpy import dispatch

    functions, ufuncs = dispatch._NUMPY_ARRAY_FUNCTION_LIST, dispatch._NUMPY_ARRAY_UFUNC_LIST
    assert {"mean", "concatenate", "linalg.norm", "einsum"} <= {*functions}
    assert {"add", "exp", "maximum", "equal"} <= {*ufuncs}
    assert not {*functions} & {*ufuncs}
    with pytest.raises(AttributeError, match="has no attribute '_OTHER_LIST'"):
        dispatch._OTHER_LIST  # noqa: B018
