"""Records of operators on the stored values of sparse arrays."""

import numpy as np

from tests.ops.record import Record


def _at(shape, *places):
    array = np.zeros(shape)
    *where, values = places
    np.add.at(array, tuple(each.astype(int) for each in where), values)
    return array


RECORDS = [
    Record("_rows_to_dense", [(1, 3), (1,)], {"shape": (4, 3)}, integers={1: 4},
           reference=lambda d, i: _at((4, 3), i, d)),
    Record("_csr_to_dense", [(3,), (3,), (3,)], {"shape": (4, 5)}, integers={1: 5, 2: 4},
           reference=lambda d, c, r: _at((4, 5), r, c, d)),
    Record("_take_rows", [(4, 3), (2,)], {}, lambda d, i: d[i.astype(int)], integers={1: 4}),
    Record("_put_rows", [(4, 3), (1,), (1, 3)], {}, integers={1: 4},
           reference=lambda d, i, n: np.where(np.arange(4)[:, None] == i, n, d)),
    Record("_sum_rows", [(5, 2), (5,)], {"count": 3}, integers={1: 3},
           reference=lambda d, p: _at((3, 2), p, d)),
    Record("_take_elements", [(3, 4), (5,), (5,)], {}, integers={1: 3, 2: 4},
           reference=lambda d, r, c: d[r.astype(int), c.astype(int)]),
    Record("_csr_dot", [(5,), (5,), (5,), (4, 2)], {"extent": 3}, integers={1: 4, 2: 3},
           reference=lambda d, c, r, w: _at((3, 4), r, c, d) @ w),
    Record("cast_storage", [(2, 3)], {"stype": "default"}, np.copy, gradient=False),
    Record("_sparse_retain", [(4, 3), (1,)], {}, integers={1: 4},
           reference=lambda d, i: np.where(np.arange(4)[:, None] == i, d, 0)),
    Record("_square_sum", [(2, 3)], {"axis": (1,)}, lambda d: (d * d).sum(1)),
    Record("_scatter_plus_scalar", [(2, 3)], {"scalar": 2.0}, lambda d: d + 2),
    Record("_scatter_minus_scalar", [(2, 3)], {"scalar": 2.0}, lambda d: d - 2),
    Record("_scatter_elemwise_div", [(2, 3), (2, 3)], {}, lambda a, b: a / b, gradient=False),
    Record("_identity_with_attr_like_rhs", [(2, 3), (2, 3)], {}, lambda a, b: a, gradient=False),
]  # fmt: skip
