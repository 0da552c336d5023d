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
    Record("CTCLoss", [(4, 2, 3), (2, 2)], integers={1: 3}, stored=True),
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
]
