"""Comparisons and their messages, word for word those of MXNet 1.9.1 where a person reads them."""

from __future__ import annotations

import numpy as np
import pytest

import mixnet as mx
from mixnet import nd
from mixnet import test_utils as utils

A = np.arange(6.0).reshape(2, 3)
B = A.copy()
B[1, 2] += 1
B[0, 1] += 0.5

PRINTED = """
*** Maximum errors for vector of size 6:  rtol=1e-05, atol=1e-20

  1: Error 33333.333333  Location of error: (0, 1), a=1.00000000, b=1.50000000
  2: Error 16666.666667  Location of error: (1, 2), a=5.00000000, b=6.00000000
"""
MESSAGE = """
Items are not equal:
Error 33333.333333 exceeds tolerance rtol=1.000000e-05, atol=1.000000e-20 (mismatch 33.333333%).
Location of maximum error: (0, 1), a=1.00000000, b=1.50000000
 ACTUAL: array([[0., 1., 2.],
       [3., 4., 5.]])
 DESIRED: array([[0. , 1.5, 2. ],
       [3. , 4. , 6. ]])"""


def test_the_message_and_the_output_are_mxnets(capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(AssertionError) as error:
        utils.assert_almost_equal(A, B)
    assert str(error.value) == MESSAGE
    assert capsys.readouterr().out == PRINTED


@pytest.mark.parametrize(
    ("convert", "tolerance", "worst"),
    [(nd.array, "rtol=1.000000e-04, atol=1.000000e-03", "(1, 2)"),
     (mx.np.array, "rtol=1.000000e-05, atol=1.000000e-20", "(0, 1)"),
     (lambda x: x.astype("float16"), "rtol=1.000000e-02, atol=1.000000e-01", "(1, 2)"),
     (lambda x: x.astype("int32"), "rtol=0.000000e+00, atol=0.000000e+00", "(1, 2)")],
)  # fmt: skip
def test_tolerances_follow_the_dtype(convert, tolerance, worst) -> None:
    with pytest.raises(AssertionError) as error:
        utils.assert_almost_equal(convert(A), convert(B))
    assert tolerance in str(error.value)
    assert f"maximum error: {worst}" in str(error.value)
    utils.assert_almost_equal(convert(A), convert(A))


@pytest.mark.parametrize(
    ("mismatches", "lines", "share"),
    [((10, 10), 10, "at least 22."), ((0, 5), 0, "at least 12."), ((5, 0), 5, "98."),
     ((5, 2), 2, "at least 6."), ((2, 9), 2, "at least 20."), ((0, 0), 0, "98.")],
)  # fmt: skip
def test_the_number_of_reported_violations_is_limited(mismatches, lines, share, capsys) -> None:
    with pytest.raises(AssertionError) as error:
        utils.assert_almost_equal(np.zeros(50), np.arange(50) / 10, mismatches=mismatches)
    assert f"(mismatch {share}" in str(error.value)
    assert capsys.readouterr().out.count("Location of error") == lines


def test_scalars_nan_and_shapes_are_compared() -> None:
    with pytest.raises(AssertionError, match=r"Error 50000.000000 exceeds tolerance"):
        utils.assert_almost_equal(1.0, 2.0)
    nan = np.array([1, np.nan])
    utils.assert_almost_equal(nan, nan, equal_nan=True)
    with pytest.raises(AssertionError, match=r"\(1,\), a=nan, b=nan"):
        utils.assert_almost_equal(nan, nan)
    utils.assert_almost_equal(np.array([1, np.inf]), np.array([1, np.inf]))
    with pytest.raises(AssertionError, match=r"a.shape = \(2, 1\) and b.shape = \(2, 2\)"):
        utils.assert_almost_equal(np.ones((2, 1)), np.ones((2, 2)), use_broadcast=False)
    utils.assert_almost_equal(np.ones((2, 1)), np.ones((2, 2)))
    with pytest.raises(ValueError, match="not equal"):
        utils.assert_almost_equal(np.zeros(5), np.ones(4))
    with pytest.raises(AssertionError, match="not equal"):
        utils.assert_almost_equal(np.array([True, False]), np.array([True, True]))
    utils.assert_almost_equal(A, B, rtol={np.dtype("float64"): 1})


def test_variants_of_the_comparison_have_their_tolerances() -> None:
    utils.assert_almost_equal_with_err(A, B, etol=0.5)
    with pytest.raises(AssertionError):
        utils.assert_almost_equal_with_err(A, B, etol=0.2)
    utils.assert_almost_equal_ignore_nan(np.array([1, np.nan, 3]), np.array([1, 4.0, np.nan]))
    with pytest.raises(AssertionError):
        utils.assert_almost_equal_ignore_nan(np.array([1, np.nan]), np.array([2, 4.0]))
    utils.assert_allclose(nd.array(A), A)
    assert utils.almost_equal(A, A * (1 + 1e-9))
    assert not utils.almost_equal(A, B)
    assert utils.same(nd.array(A), A.astype("float32"))
    assert not utils.same(np.ones(2), np.ones(3))
    assert utils._find_max_violation(A, B, 1e-3, 1e-3) == ((0, 1), pytest.approx(200))
    x = nd.ones((2,))
    assert utils.same_array(x, x)
    assert not utils.same_array(x, nd.ones((2,)))
    utils.compare_ndarray_tuple((x, None, (x, x)), (x, None, (x, x)))
    with pytest.raises(AssertionError):
        utils.compare_ndarray_tuple((x, None), (x * 0, None))


def test_default_tolerances_are_mxnets() -> None:
    assert utils.default_rtols()[np.dtype("float32")] == 1e-4
    assert utils.default_atols()[np.dtype("float64")] == 1e-20
    assert utils.default_numeric_eps()[np.dtype("float32")] == 2**-9
    assert utils.get_tols(np.zeros(2, "float16"), 1.0, 0.1, None) == (0.1, 0.1)
    assert utils.get_rtol() == 1e-5
    assert utils.get_atol(dtype=np.float32) == 1e-3
    assert utils.get_etol() == 0
    assert utils.effective_dtype(nd.ones((1,))) == np.float32
    with pytest.raises(AttributeError):
        utils.get_tols([1.0], 1.0, None, None)


def test_helpers_for_arrays_agree_with_numpy() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(
        utils.np_reduce(x, (0, 2), True, np.sum), x.sum((0, 2), keepdims=True)
    )
    assert utils.np_reduce(x, None, False, np.max) == 23
    np.testing.assert_array_equal(utils.collapse_sum_like(np.ones((2, 3, 4)), (3, 1)), [[8]] * 3)
    for shape in ((2, 1), (5, 2, 3, 4)):
        with pytest.raises(AssertionError):
            utils.collapse_sum_like(np.ones((2, 3, 4)), shape)
    np.testing.assert_array_equal(utils.assign_each(x, lambda e: e + 1), x + 1)
    np.testing.assert_array_equal(utils.assign_each2(x, x, lambda a, b: a * b), x * x)
