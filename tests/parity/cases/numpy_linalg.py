"""``np.linalg`` and the products of ``np``."""

import numpy as np

_rng = np.random.RandomState(13)


def _uniform(*shape):
    return _rng.uniform(-1, 1, shape).astype("float32")


def _definite(*shape):
    root = _rng.uniform(-1, 1, shape)
    product = np.matmul(root, np.swapaxes(root, -1, -2))
    return (product + np.eye(shape[-1])).astype("float32")


def _case(name, op, inputs, attrs=None, grads=None):
    grads = list(inputs) if grads is None else grads
    return {"case": f"np_{name}", "op": op, "inputs": inputs, "attrs": attrs or {}, "grads": grads}


def _pair(left, right):
    return {"a": _uniform(*left), "b": _uniform(*right)}


CASES = [
    _case("cholesky", "_npi_cholesky", {"A": _definite(2, 3, 3)}),
    _case("svd", "_npi_svd", {"A": _uniform(3, 4)}),
    _case("svd_batch", "_npi_svd", {"A": _uniform(2, 2, 4)}),
    _case("solve", "_npi_solve", {"A": _definite(2, 3, 3), "B": _uniform(2, 3, 2)}),
    # MXNet has no gradient where B is a vector.
    _case("solve_vector", "_npi_solve", {"A": _definite(3, 3), "B": _uniform(3)}, {}, []),
    _case("tensorinv", "_npi_tensorinv", {"a": _definite(6, 6).reshape(2, 3, 6)}),
    _case("tensorinv_1", "_npi_tensorinv", {"a": _definite(6, 6).reshape(6, 2, 3)}, {"ind": 1}),
    _case(
        "tensorsolve", "_npi_tensorsolve",
        {"a": _definite(6, 6).reshape(2, 3, 6), "b": _uniform(2, 3)},
    ),
    _case(
        "tensorsolve_axes", "_npi_tensorsolve",
        {"a": _definite(6, 6).reshape(6, 2, 3).transpose(1, 0, 2), "b": _uniform(6)},
        {"a_axes": (0, 2)},
    ),
    _case("pinv", "_npi_pinv_scalar_rcond", {"A": _uniform(2, 4, 3)}),
    _case("pinv_cut", "_npi_pinv_scalar_rcond", {"A": _uniform(4, 3)}, {"rcond": 0.5}),
    _case(
        "pinv_many_cuts", "_npi_pinv",
        {"A": _uniform(2, 3, 4), "rcond": np.array([0.5, 1e-3], "float32")}, {}, ["A"],
    ),
    _case("eigh", "_npi_eigh", {"A": _definite(2, 3, 3)}),
    _case("eigh_upper", "_npi_eigh", {"A": _uniform(3, 3)}, {"UPLO": "U"}),
    _case("eigh_whole", "_npi_eigh", {"A": np.array([[2, 1], [1, 5]], "int32")}, {}, []),
    _case("eigvalsh_upper", "_npi_eigvalsh", {"A": _uniform(3, 3)}, {"UPLO": "U"}),
    _case("eig", "_npi_eig", {"A": _definite(2, 3, 3) @ np.diag([1, 2, 3]).astype("float32")}),
    _case("eigvals", "_npi_eigvals", {"A": np.triu(_uniform(4, 4))}),
    _case("det", "_npi_det", {"A": _uniform(3, 3)}),
    _case("slogdet", "_npi_slogdet", {"A": _uniform(3, 3)}),
    _case("inv", "_npi_inv", {"A": _definite(3, 3)}),
    _case("matmul", "_npi_matmul", _pair((2, 3, 3, 4), (2, 3, 4, 2))),
    # MXNet's gradient of an array that was broadcast is not the sum.
    _case("matmul_broadcast", "_npi_matmul", _pair((2, 1, 3, 4), (3, 4, 2)), {}, []),
    _case("matmul_vector", "_npi_matmul", _pair((2, 3, 4), (4,))),
    _case("matmul_vectors", "_npi_matmul", _pair((4,), (4,))),
    _case("matmul_left_vector", "_npi_matmul", _pair((3,), (2, 3, 4))),
    _case("tensordot_0", "_npi_tensordot_int_axes", _pair((2, 3), (2,)), {"axes": 0}),
    _case("tensordot_2", "_npi_tensordot_int_axes", _pair((2, 3, 4), (3, 4, 2)), {"axes": 2}),
    _case(
        "tensordot_axes", "_npi_tensordot", _pair((2, 3, 4), (4, 5, 2)),
        {"a_axes_summed": (0, 2), "b_axes_summed": (2, 0)},
    ),
    _case("polyval", "_npi_polyval", {"p": _uniform(4), "x": _uniform(2, 3)}),
]  # fmt: skip
for _subscripts, _shapes in {
    "ij,jk->ik": ((2, 3), (3, 4)),
    "ij,jk": ((2, 3), (3, 4)),
    "ii": ((3, 3),),
    "ii->i": ((3, 3),),
    "...i->...": ((2, 3),),
    "b...i,bi...->b...": ((2, 3, 4), (2, 4, 3)),
    "i,j,k->kji": ((2,), (3,), (4,)),
    "ij,ij->": ((2, 3), (2, 3)),
}.items():
    for _optimize in (0, 1):
        _inputs = {f"arg{i}": _uniform(*shape) for i, shape in enumerate(_shapes)}
        CASES.append(
            _case(
                f"einsum_{_subscripts}_{_optimize}", "_npi_einsum", _inputs,
                {"subscripts": _subscripts, "optimize": _optimize},
            )
        )  # fmt: skip
for _axis, _order, _flag in [
    (None, 2, -2), ((0, 1), 2, 1), ((1,), 2, 1), ((0, 1), 2, 2), ((0, 1), 2, 0), ((0, 1), -2, 0),
    ((1,), 1, -1), ((1,), 3, -1), ((0,), 2, -1), ((0,), -1, -1), (None, 1, -1), (None, 2, -1),
    (None, -1, -1),
]:  # fmt: skip
    # MXNet multiplies twice by the head in the gradients of these norms of matrices.
    _wrong = _flag == 0 or (_axis is None and _flag == -1)
    CASES.append(
        _case(
            f"norm_{_axis}_{_order}_{_flag}", "_npi_norm", {"data": _uniform(3, 3)},
            {"axis": _axis, "ord": _order, "flag": _flag}, [] if _wrong else None,
        )
    )  # fmt: skip
CASES.append(
    _case(
        "norm_kept", "_npi_norm", {"data": _uniform(2, 3, 3)},
        {"axis": (1, 2), "ord": 2, "flag": 0, "keepdims": True}, [],
    )
)  # fmt: skip
