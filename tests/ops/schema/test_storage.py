"""Storage types of results: MXNet 1.9.1's answers, operator by operator."""

import pytest

import mixnet as mx
from mixnet.ndarray.sparse_rules import storage_of
from mixnet.ops.registry import find
from tests.each_record import each_record

CSR, ROWS, DENSE = "csr", "row_sparse", "default"

KEEPS_ZERO = [
    "abs",
    "sign",
    "square",
    "sqrt",
    "cbrt",
    "round",
    "rint",
    "fix",
    "floor",
    "ceil",
    "trunc",
    "sin",
    "tan",
    "arcsin",
    "arctan",
    "sinh",
    "tanh",
    "arcsinh",
    "arctanh",
    "expm1",
    "log1p",
    "degrees",
    "radians",
    "relu",
    "negative",
    "identity",
    "BlockGrad",
    "make_loss",
    "zeros_like",
]
LOSES_ZERO = [
    "exp",
    "cos",
    "arccos",
    "log",
    "sigmoid",
    "rsqrt",
    "softsign",
    "erf",
    "gamma",
    "ones_like",
    "softmax",
]


@pytest.mark.parametrize("stype", [CSR, ROWS])
def test_functions_of_one_array(stype: str) -> None:
    assert [n for n in KEEPS_ZERO if storage_of(find(n), [stype], {}) != stype] == []
    assert [n for n in LOSES_ZERO if storage_of(find(n), [stype], {}) is not None] == []


@each_record(
    ("name", "attributes", "keeps"),
    [
        ("_plus_scalar", {"scalar": 0.0}, True),
        ("_plus_scalar", {"scalar": 1.0}, False),
        ("_mul_scalar", {"scalar": 2.0}, True),
        ("_div_scalar", {"scalar": 0.0}, True),
        ("_greater_scalar", {"scalar": 0.0}, True),
        ("_greater_scalar", {"scalar": -1.0}, False),
        ("_greater_equal_scalar", {"scalar": 0.0}, False),
        ("_equal_scalar", {"scalar": 0.0}, False),
        ("_not_equal_scalar", {"scalar": 0.0}, True),
        ("_lesser_equal_scalar", {"scalar": -1.0}, True),
        ("clip", {"a_min": 0, "a_max": 1}, True),
        ("clip", {"a_min": 1, "a_max": 2}, False),
        ("Cast", {"dtype": "float16"}, False),
    ],
)
def test_functions_of_an_array_and_numbers(name: str, attributes: dict, keeps: bool) -> None:
    for stype in (CSR, ROWS):
        assert (storage_of(find(name), [stype], attributes) == stype) is keeps


PAIRS = [
    ("elemwise_add", "", {(CSR, CSR): CSR, (ROWS, ROWS): ROWS, (CSR, DENSE): DENSE, (CSR, ROWS): None}),
    ("elemwise_mul", "", {(DENSE, CSR): CSR, (ROWS, DENSE): ROWS, (ROWS, CSR): None}),
    ("elemwise_div", "", {(CSR, CSR): None, (ROWS, DENSE): None}),
    ("broadcast_mul", "", {(CSR, DENSE): CSR, (DENSE, CSR): None, (CSR, CSR): None}),
    ("_maximum", "", {(CSR, CSR): CSR, (CSR, DENSE): None}),
    ("add_n", "", {(ROWS, ROWS): ROWS, (CSR, CSR): None}),
    ("dot", "", {(CSR, DENSE): DENSE, (CSR, ROWS): DENSE, (DENSE, CSR): CSR, (CSR, CSR): None}),
    ("dot", "a", {(CSR, DENSE): ROWS, (CSR, ROWS): ROWS, (DENSE, CSR): None}),
    ("dot", "b", {(CSR, DENSE): None, (DENSE, CSR): CSR}),
]  # fmt: skip


@each_record(("name", "transposed", "expected"), PAIRS)
def test_functions_of_two_arrays(name: str, transposed: str, expected: dict) -> None:
    attributes = {f"transpose_{transposed}": True} if transposed else {}
    actual = {types: storage_of(find(name), types, attributes) for types in expected}
    assert actual == expected


def test_python_operators_keep_what_nd_functions_broadcast() -> None:
    nd = mx.nd
    a = nd.array([[1, 0], [0, -2]])
    c = a.tostype(CSR)
    assert [(c + c).stype, (c * c).stype, (c / c).stype] == [CSR, CSR, DENSE]
    assert [nd.add(c, c).stype, nd.sparse.add(c, c).stype] == [DENSE, CSR]
    assert [(a * c).stype, (c * a).stype, nd.sparse.multiply(a, c).stype] == [DENSE, CSR, CSR]


@pytest.mark.parametrize("stype", [CSR, ROWS])
def test_recorded_results_have_the_same_types_and_gradients(stype: str) -> None:
    nd = mx.nd
    a, b = (nd.array([[1, 0], [0, 2]]) * n for n in (1, 3))
    a, b = a.tostype(stype), b.tostype(stype)
    a.attach_grad()
    b.attach_grad(stype=DENSE)
    with mx.autograd.record():
        y = nd.elemwise_mul(nd.square(a), b)
        z = nd.exp(y)
    assert [y.stype, z.stype] == [stype, DENSE]
    y.backward()
    assert [a.grad.stype, b.grad.stype] == [stype, DENSE]
    assert a.grad.asnumpy().tolist() == [[6.0, 0.0], [0.0, 24.0]]
    assert b.grad.asnumpy().tolist() == [[1.0, 0.0], [0.0, 4.0]]


def test_the_gradient_of_a_dense_array_times_a_csr_one() -> None:
    nd = mx.nd
    c, d = nd.array([[1, 0], [0, 2]]).tostype(CSR), nd.array([[1, 2], [3, 4]])
    d.attach_grad()
    with mx.autograd.record():
        y = nd.elemwise_mul(c, d)
    y.backward()
    assert y.stype == CSR
    assert d.grad.asnumpy().tolist() == [[1.0, 0.0], [0.0, 2.0]]


def test_rows_of_a_csr_matrix_are_taken_as_one() -> None:
    nd = mx.nd
    c = nd.array([[1, 0, 2], [0, 0, 3], [4, 0, 0]]).tostype(CSR)
    clipped = nd.take(c, nd.array([0, 2, 5, -1]))
    assert clipped.indptr.asnumpy().tolist() == [0, 2, 3, 4, 6]
    assert clipped.data.asnumpy().tolist() == [1.0, 2.0, 4.0, 4.0, 1.0, 2.0]
    wrapped = nd.take(c, nd.array([5, -1]), mode="wrap")
    assert wrapped.asnumpy().tolist() == [[4.0, 0.0, 0.0]] * 2


def test_sources_of_sparse_arrays() -> None:
    sp = pytest.importorskip("scipy.sparse")
    nd, np = mx.nd, pytest.importorskip("numpy")
    dense = np.array([[0, 1], [2, 0]], "float64")
    csr = nd.array(sp.csr_matrix(dense))
    assert (csr.stype, csr.dtype) == (CSR, np.float64)
    for make in (nd.sparse.csr_matrix, nd.sparse.row_sparse_array):
        assert [make(s).dtype for s in (dense, dense.astype("int32"), dense.tolist())] == [
            np.float64, np.int32, np.float32,
        ]  # fmt: skip
        for wrong in ((2,), (dense,)):
            with pytest.raises(ValueError, match="a tuple must be"):
                make(wrong)
        with pytest.raises(ValueError):
            make((2, 2), shape=(3, 2))
    with pytest.raises(TypeError):
        nd.array(sp.coo_matrix(dense))
    with pytest.raises(ValueError, match="tocsr"):
        nd.sparse.array(sp.coo_matrix(dense))
    with pytest.raises(AssertionError):
        nd.sparse.array(nd.array(dense))
    rows = nd.sparse.row_sparse_array((np.ones((2, 2)), [1, 0]), shape=(3, 2))
    rows.check_format(full_check=False)
    with pytest.raises(mx.MXNetError, match="indices must rise"):
        rows.check_format()


def test_unsupported_methods_of_sparse_arrays_are_errors() -> None:
    c = mx.nd.array([[1, 0], [0, 2]]).tostype(CSR)
    with pytest.raises(TypeError):
        float(c)
    with pytest.raises(NotImplementedError):
        c.size  # noqa: B018
    with pytest.raises(NotImplementedError):
        c.asscalar()
    with pytest.raises(ValueError):
        bool(c)
    with pytest.raises(ValueError, match="cannot be filled with the number"):
        c[:] = 5
