"""Records of linear algebra, recurrent networks and attention."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.record import Record


def _turned(x: np.ndarray) -> np.ndarray:
    return np.swapaxes(x, -1, -2)


def _makediag(x: np.ndarray) -> np.ndarray:
    return np.stack([np.diag(row, 1) for row in x])


def _lower(x: np.ndarray) -> Any:
    return x[:, *np.tril_indices(x.shape[-1])]


RECORDS = [
    Record(
        "RNN",
        [(3, 2, 3), (56,), (1, 2, 2), (1, 2, 2)],
        {"state_size": 2, "num_layers": 1, "mode": "lstm", "state_outputs": True},
        stored=True,
    ),
    Record("_rnn_param_concat", [(3,), (2,)], {"dim": 0}, lambda a, b: np.concatenate([a, b])),
    Record("CTCLoss", [(4, 2, 3), (2, 2)], integers={1: 2}, stored=True),
    Record(
        "_linalg_gemm",
        [(2, 3, 4), (2, 4, 2), (2, 3, 2)],
        {"alpha": 1.5, "beta": 0.5},
        lambda a, b, c: 1.5 * a @ b + 0.5 * c,
    ),
    Record(
        "_linalg_gemm2",
        [(2, 4, 3), (2, 4, 2)],
        {"transpose_a": True},
        lambda a, b: _turned(a) @ b,
    ),
    Record("_linalg_syrk", [(2, 3, 4)], {"alpha": 2.0}, lambda a: 2 * a @ _turned(a)),
    Record("_linalg_trmm", [(2, 3, 3), (2, 3, 2)], {}, lambda a, b: np.tril(a) @ b),
    Record(
        "_linalg_trsm",
        [(2, 3, 3), (2, 3, 2)],
        {},
        lambda a, b: np.linalg.solve(np.tril(a), b),
        low=0.5,
        high=1.5,
    ),
    # Its gradient is that of a symmetric matrix, which one element alone cannot vary.
    Record("_linalg_potrf", [(1, 1)], {}, np.sqrt, low=1.0, high=2.0, stored=True),
    Record(
        "_linalg_potri",
        [(2, 3, 3)],
        {},
        lambda a: np.linalg.inv(np.tril(a) @ _turned(np.tril(a))),
        low=0.5,
        high=1.5,
    ),
    Record("_linalg_gelqf", [(2, 2, 3)], stored=True),
    Record("_linalg_syevd", [(3, 3)], stored=True, gradient=False),
    Record("_linalg_inverse", [(2, 2, 2)], {}, np.linalg.inv, low=0.5, high=2.0),
    Record("_linalg_det", [(2, 3, 3)], {}, np.linalg.det),
    Record("_linalg_slogdet", [(2, 3, 3)], {}, lambda a: tuple(np.linalg.slogdet(a))),
    Record("_npi_det", [(3, 3)], {}, np.linalg.det),
    Record("_npi_slogdet", [(3, 3)], {}, lambda a: tuple(np.linalg.slogdet(a))),
    Record(
        "_linalg_sumlogdiag",
        [(2, 3, 3)],
        {},
        lambda a: np.log(np.diagonal(a, 0, -2, -1)).sum(-1),
        low=0.5,
        high=2.0,
    ),
    Record("_linalg_extractdiag", [(2, 3, 3)], {}, lambda a: np.diagonal(a, 0, -2, -1)),
    Record("_linalg_makediag", [(2, 3)], {"offset": 1}, _makediag),
    Record("_linalg_extracttrian", [(2, 3, 3)], {}, _lower),
    Record("_linalg_maketrian", [(2, 6)], {"offset": 1, "lower": False}, stored=True),
    Record("_contrib_interleaved_matmul_selfatt_qk", [(3, 2, 12)], {"heads": 2}, stored=True),
    Record(
        "_contrib_interleaved_matmul_selfatt_valatt",
        [(3, 2, 12), (4, 3, 3)],
        {"heads": 2},
        stored=True,
    ),
    Record(
        "_contrib_interleaved_matmul_encdec_qk", [(3, 2, 4), (2, 2, 8)], {"heads": 2}, stored=True
    ),
    Record(
        "_contrib_interleaved_matmul_encdec_valatt",
        [(3, 2, 8), (4, 2, 3)],
        {"heads": 2},
        stored=True,
    ),
    Record(
        "_contrib_hawkesll",
        [(2, 2), (2,), (2,), (2, 2), (2, 3), (2, 3), (2,), (2,)],
        {},
        low=0.5,
        high=1.0,
        integers={5: 2, 6: 4},
        stored=True,
        gradient=False,  # by contract there is none for the state and the times
    ),
    Record(
        "_contrib_quantize",
        [(2, 3), (1,), (1,)],
        {"out_type": "int8"},
        low=0.5,
        stored=True,
        gradient=False,
    ),
    Record("_contrib_quantize_v2", [(2, 3)], stored=True, gradient=False),
    Record("_contrib_quantize_asym", [(2, 3)], stored=True, gradient=False),
    Record(
        "_contrib_dequantize", [(2, 3), (1,), (1,)], stored=True, gradient=False, dtypes={0: "int8"}
    ),
    Record("_npi_matmul", [(2, 1, 3, 4), (3, 4, 2)], {}, np.matmul),
    Record(
        "_npi_einsum",
        [(2, 3), (3, 4)],
        {"subscripts": "ij,jk->ki"},
        lambda a, b: np.einsum("ij,jk->ki", a, b),
    ),
    Record(
        "_npi_tensordot",
        [(2, 3, 4), (4, 5, 2)],
        {"a_axes_summed": (0, 2), "b_axes_summed": (2, 0)},
        lambda a, b: np.tensordot(a, b, ((0, 2), (2, 0))),
    ),
    Record(
        "_npi_tensordot_int_axes",
        [(2, 3, 4), (3, 4, 2)],
        {"axes": 2},
        lambda a, b: np.tensordot(a, b, 2),
    ),
    Record("_npi_polyval", [(3,), (2, 3)], {}, np.polyval),
    Record("_npi_norm", [(2, 3)], {"axis": (1,), "ord": 3}, lambda a: np.linalg.norm(a, 3, axis=1)),
    # Its gradient is that of a symmetric matrix, which one element alone cannot vary.
    Record("_npi_cholesky", [(1, 1)], {}, np.sqrt, low=1.0, high=2.0, stored=True),
    Record("_npi_svd", [(2, 3)], stored=True),
    Record("_npi_solve", [(3, 3), (3,)], {}, np.linalg.solve),
    Record("_npi_tensorinv", [(4, 2, 2)], {"ind": 1}, lambda a: np.linalg.tensorinv(a, 1)),
    Record("_npi_tensorsolve", [(2, 2, 4), (2, 2)], {}, np.linalg.tensorsolve),
    Record(
        "_npi_pinv",
        [(2, 2, 3), (2,)],
        {},
        lambda a, r: np.linalg.pinv(a, r),
        low=0.1,
        high=0.3,
        gradient=False,
    ),
    Record(
        "_npi_pinv_scalar_rcond",
        [(2, 3)],
        {"rcond": 0.4},
        lambda a: np.linalg.pinv(a, 0.4),
        gradient=False,
    ),
    Record("_npi_eigh", [(3, 3)], stored=True, gradient=False),
    Record("_npi_eigvalsh", [(3, 3)], {}, np.linalg.eigvalsh, gradient=False),
    Record("_npi_eig", [(2, 2)], stored=True, gradient=False, low=0.5),
    Record("_npi_eigvals", [(2, 2)], {}, np.linalg.eigvals, gradient=False, low=0.5),
]
