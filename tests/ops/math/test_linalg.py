"""Linear algebra, attention, CTC and quantization beyond MXNet's results, and their errors."""

from __future__ import annotations

import numpy as np
import pytest

import mixnet as mx
from mixnet import nd
from mixnet.base import AttributeValueError, DTypeError, ShapeError
from tests.each_record import each_record

internal = nd._internal

BAD = {
    "gemm2": (lambda: nd.linalg.gemm2(nd.ones((2, 3)), nd.ones((2, 3))), "columns of the first"),
    "gemm2 batch": (lambda: nd.linalg.gemm2(nd.ones((2, 3, 3)), nd.ones((3, 3))), "must agree"),
    "gemm2 axis": (lambda: nd.linalg.gemm2(nd.ones((3, 3)), nd.ones((3, 3)), axis=1), "axis=1"),
    "gemm": (lambda: nd.linalg.gemm(*[nd.ones((3, 3))] * 2, nd.ones((3, 2))), "C is"),
    "syrk": (lambda: nd.linalg.syrk(nd.ones(3)), "two axes"),
    "trmm": (lambda: nd.linalg.trmm(nd.ones((3, 3)), nd.ones((2, 3))), "does not exist"),
    "potrf": (lambda: nd.linalg.potrf(nd.ones((3, 2))), "potrf: the matrix is"),
    "gelqf": (lambda: nd.linalg.gelqf(nd.ones((3, 2)))[0], "Transpose"),
    "extractdiag": (lambda: nd.linalg.extractdiag(nd.ones((3, 3)), offset=3), "between -2 and 2"),
    "maketrian": (lambda: nd.linalg.maketrian(nd.ones(4)), "1, 3, 6, 10"),
    "ctc classes": (lambda: nd.CTCLoss(nd.ones((4, 2)), nd.ones((2, 2))), "time, batch, classes"),
    "ctc batch": (lambda: nd.CTCLoss(nd.ones((4, 2, 3)), nd.ones((3, 2))), "2 rows"),
    "ctc lengths": (
        lambda: nd.CTCLoss(nd.ones((4, 2, 3)), nd.ones((2, 2)), nd.ones(3), use_data_lengths=True),
        "one length per sequence",
    ),
    "selfatt": (
        lambda: nd.contrib.interleaved_matmul_selfatt_qk(nd.ones((3, 2, 8)), heads=2),
        r"heads \* 3",
    ),
    "encdec": (
        lambda: nd.contrib.interleaved_matmul_encdec_qk(
            nd.ones((3, 2, 8)), nd.ones((3, 2, 8)), heads=2
        ),
        "differ in more than time",
    ),
    "valatt": (
        lambda: nd.contrib.interleaved_matmul_encdec_valatt(
            nd.ones((3, 2, 8)), nd.ones((4, 2, 2)), heads=2
        ),
        "queries, 3",
    ),
    "hawkes": (lambda: nd.contrib.hawkesll(*[nd.ones((2, 2))] * 8)[0], "alpha is"),
    "quantize": (lambda: nd.contrib.quantize(nd.ones(3), nd.ones(2), nd.ones(1))[0], "give each"),
    "matmul": (lambda: internal._npi_matmul(nd.ones((2, 3)), nd.ones((2, 3))), "Transpose one"),
    "tensordot": (
        lambda: internal._npi_tensordot_int_axes(nd.ones((2, 3)), nd.ones((2, 3)), axes=1),
        "same extents",
    ),
    "polyval": (lambda: internal._npi_polyval(nd.ones((2, 3)), nd.ones(3)), "one axis"),
    "svd": (lambda: internal._npi_svd(nd.ones(3))[0], "two axes"),
    "solve": (lambda: internal._npi_solve(nd.ones((3, 3)), nd.ones((2, 2))), "equal rows"),
    "tensorinv": (
        lambda: internal._npi_tensorinv(nd.ones((2, 3, 4)), ind=1),
        "must have as many elements",
    ),
    "pinv": (lambda: internal._npi_pinv_scalar_rcond(nd.ones(3)), "two axes"),
    "eig": (lambda: internal._npi_eig(nd.ones((2, 3)))[0], "linalg.eig: the matrix"),
}


@each_record("name", BAD)
def test_what_does_not_fit_is_named(name: str) -> None:
    call, message = BAD[name]
    with pytest.raises(ShapeError, match=message):
        call().asnumpy()


def test_an_attribute_that_no_array_can_have_is_named() -> None:
    with pytest.raises(AttributeValueError, match="subscripts='ij,jk->ik'"):
        internal._npi_einsum(nd.ones((2, 3)), nd.ones((2, 3)), subscripts="ij,jk->ik").asnumpy()
    with pytest.raises(AttributeValueError, match="not a norm over axes"):
        internal._npi_norm(nd.ones((2, 3)), ord=5, axis=(0, 1)).asnumpy()
    with pytest.raises(AttributeValueError, match="ind=0"):
        internal._npi_tensorinv(nd.ones((2, 2)), ind=0).asnumpy()


def test_eigenvalues_that_are_not_real_become_nan() -> None:
    values, vectors = internal._npi_eig(nd.array([[0, 1], [-1, 0]]))
    assert np.isnan(values.asnumpy()).all()
    assert np.isnan(vectors.asnumpy()).any()
    assert np.isnan(internal._npi_eigvals(nd.array([[0, 1], [-1, 0]])).asnumpy()).all()


def test_zeros_alone_are_quantized_to_zeros() -> None:
    for out_type in ("int8", "uint8"):
        actual = nd.contrib.quantize_v2(nd.zeros(3), out_type=out_type)[0]
        np.testing.assert_array_equal(actual.asnumpy(), 0)


def test_tall_matrices_have_singular_values() -> None:
    data = np.random.default_rng(0).uniform(-1, 1, (4, 2)).astype("float32")
    u, values, v = (each.asnumpy() for each in internal._npi_svd(nd.array(data)))
    np.testing.assert_allclose(u * values @ v, data, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(u.T @ u, np.eye(2), atol=1e-6)


@pytest.mark.parametrize("name", ["potrf", "gelqf", "syevd", "inverse", "det", "slogdet"])
def test_factors_are_of_single_or_double_precision(name: str) -> None:
    with pytest.raises(DTypeError, match="float32 or float64"):
        result = getattr(nd.linalg, name)(nd.ones((2, 2), dtype="float16"))
        (result[0] if isinstance(result, list) else result).asnumpy()


@each_record(
    ("shape", "ind"), [((4, 6, 8, 3), 2), ((24, 8, 3), 1), ((2, 3, 4, 24), 3), ((5, 5), 1)]
)
@each_record("dtype", ["float32", "float64"])
def test_tensorinv_is_numpys(shape: tuple[int, ...], ind: int, dtype: str) -> None:
    size = int(np.prod(shape[:ind]))
    flat = np.random.RandomState(size).randn(size, size) + size * np.eye(size)
    value = flat.reshape(shape).astype(dtype)
    result = mx.np.linalg.tensorinv(mx.np.array(value, dtype=dtype), ind=ind)
    expected = np.linalg.tensorinv(value, ind)
    assert result.shape == expected.shape
    np.testing.assert_allclose(result.asnumpy(), expected, rtol=1e-4, atol=1e-5)
    identity = np.tensordot(result.asnumpy(), value, axes=ind).reshape(size, size)
    np.testing.assert_allclose(identity, np.eye(size), atol=1e-4)


@pytest.mark.parametrize(
    ("shape", "axes"), [((6, 4, 2, 3, 4), None), ((2, 3, 6), None), ((3, 6, 2), (1,))]
)
def test_tensorsolve_is_numpys(shape: tuple[int, ...], axes: tuple[int, ...] | None) -> None:
    random = np.random.RandomState(5)
    value = random.randn(*shape)
    moved = np.moveaxis(value, axes or (), range(-len(axes or ()), 0))
    size = int(np.sqrt(value.size))
    ends = [n for n in range(1, value.ndim) if np.prod(moved.shape[:n], dtype=int) == size]
    b = random.randn(*moved.shape[: ends[0]])
    expected = np.linalg.tensorsolve(value, b, axes)
    arrays = [mx.np.array(each, dtype="float64") for each in (value, b)]
    result = mx.np.linalg.tensorsolve(*arrays, axes=axes)
    assert result.shape == expected.shape
    np.testing.assert_allclose(result.asnumpy(), expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [3, 5, 7])
def test_the_first_of_equally_large_elements_is_positive(size: int, dtype: str) -> None:
    """Second differences: sines are their eigenvectors."""
    places = np.arange(1, size + 1) * np.pi / (size + 1)
    matrix = 2 * np.eye(size) - np.eye(size, k=1) - np.eye(size, k=-1)
    vectors, _ = mx.nd.linalg.syevd(mx.nd.array(matrix, dtype=dtype))
    for number, vector in enumerate(vectors.asnumpy(), 1):
        sines = np.sin(number * places) / np.sqrt((size + 1) / 2)
        largest = np.flatnonzero(np.isclose(abs(sines), abs(sines).max()))[0]
        np.testing.assert_allclose(vector, sines * np.sign(sines[largest]), atol=1e-5)
