"""Rules of storage types that operators declare: which results, and gradients, are sparse. Asked
of MXNet 1.9.1 pair by pair.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from mixnet.ops.schema.storage import DENSE, Storage, StorageQuery, all_dense

CSR, ROWS = "csr", "row_sparse"


# ---- of one array: 0 stays 0 ------------------------------------------------------------------------


def _as_head(query: StorageQuery) -> Sequence[str]:
    """The gradient is computed from the head alone."""
    return [query.head] * len(query.types)


def _as_both(query: StorageQuery) -> Sequence[str]:
    """The gradient is a product of head and data, and there is one where both are alike."""
    return [query.head if query.head == query.types[0] else DENSE]


def _as_data(query: StorageQuery) -> Sequence[str]:
    """The gradient is 0, in the data's storage type."""
    return [query.types[0], *[DENSE] * (len(query.types) - 1)]


def _keeps_zero(
    gradients: Callable[[StorageQuery], Sequence[str]] | None,
    where: Callable[[StorageQuery], bool] | None = None,
    of: Sequence[str] = (CSR, ROWS),
) -> Storage:
    """The data's storage type, unless ``where`` says that 0 does not stay 0."""

    def output(query: StorageQuery) -> str | None:
        if query.types[0] in of and (where is None or where(query)):
            return query.types[0]
        return DENSE if all_dense(query.types) else None

    return Storage(output, gradients, on_stored=True)


def _is_zero(name: str) -> Callable[[StorageQuery], bool]:
    return lambda query: query.attributes[name] == 0


def _false_at_zero(compare: Callable[[float, float], bool]) -> Callable[[StorageQuery], bool]:
    return lambda query: not compare(0.0, query.attributes["scalar"])


def _zero_is_inside(query: StorageQuery) -> bool:
    return bool(query.attributes["a_min"] <= 0 <= query.attributes["a_max"])


ZERO_STAYS = _keeps_zero(None)
"""0 stays 0; the gradient is dense."""

ZERO_STAYS_IN_BOTH = _keeps_zero(_as_both)
"""0 stays 0, in the gradient too, which is a product with the data."""

ZERO_STAYS_WITHOUT_GRADIENT = _keeps_zero(_as_data)
"""0 stays 0; the gradient is 0 everywhere."""

ZERO_STAYS_LINEAR = _keeps_zero(_as_head)
"""0 stays 0; the gradient is the head, or a multiple of it."""

ADDED_SCALAR = _keeps_zero(_as_head, _is_zero("scalar"))
CLIP = _keeps_zero(None, _zero_is_inside)
QUADRATIC = _keeps_zero(None, _is_zero("c"), (CSR,))

COMPARISONS = {
    key: _keeps_zero(_as_data, _false_at_zero(compare))
    for key, compare in (
        ("equal", operator.eq),
        ("not_equal", operator.ne),
        ("greater", operator.gt),
        ("greater_equal", operator.ge),
        ("lesser", operator.lt),
        ("lesser_equal", operator.le),
    )
}
"""Comparisons with a number."""


# ---- of several arrays ------------------------------------------------------------------------------


def _alike(query: StorageQuery, of: Sequence[str] = (CSR, ROWS)) -> str | None:
    """The storage type that all inputs have."""
    first = query.types[0]
    return first if first in (DENSE, *of) and set(query.types) == {first} else None


def _sum(query: StorageQuery) -> str | None:
    # MXNet adds dense and sparse arrays without a copy, and gives a dense one.
    known = set(query.types) in ({DENSE, CSR}, {DENSE, ROWS})
    return DENSE if known else _alike(query)


def _sum_of_rows(query: StorageQuery) -> str | None:
    return _alike(query, (ROWS,))


def _product(query: StorageQuery) -> str | None:
    if set(query.types) in ({DENSE, CSR}, {DENSE, ROWS}):
        return next(each for each in query.types if each != DENSE)
    return _alike(query)


def _csr_times_dense(query: StorageQuery) -> str | None:
    return CSR if list(query.types) == [CSR, DENSE] else _alike(query, ())


def _csr_plus_dense(query: StorageQuery) -> str | None:
    return DENSE if set(query.types) == {DENSE, CSR} else _alike(query, ())


def _divided_rows(query: StorageQuery) -> str | None:
    return ROWS if query.types[0] == ROWS else _alike(query, ())


def _dot(query: StorageQuery) -> str | None:
    left, right = query.types
    first, second = query.attributes["transpose_a"], query.attributes["transpose_b"]
    stype = query.attributes.get("forward_stype")
    if stype is not None:
        return str(stype)
    if left == CSR and right in (DENSE, ROWS) and not second:
        return ROWS if first else DENSE
    if (left, right) == (DENSE, CSR) and not first:
        return CSR
    return DENSE if (left, right) == (DENSE, DENSE) else None


def _dot_gradients(query: StorageQuery) -> Sequence[str]:
    """Of a csr matrix times something, the gradient of that has the rows that the matrix has as columns."""
    transposed = query.attributes["transpose_a"] or query.attributes["transpose_b"]
    by_rows = query.types[0] == CSR and not transposed and query.head != CSR
    return [DENSE, ROWS if by_rows else DENSE]


def _total(query: StorageQuery) -> str | None:
    if query.types[0] == CSR and not (query.attributes["keepdims"] or query.attributes["exclude"]):
        return DENSE
    return _alike(query, ())


def _norm(query: StorageQuery) -> str | None:
    whole = query.attributes["axis"] is None and query.attributes["ord"] == 2
    return DENSE if whole else _alike(query, ())


def _square_sum(query: StorageQuery) -> str | None:
    axis, keeps = query.attributes["axis"], query.attributes["keepdims"]
    axis = axis[0] if isinstance(axis, (tuple, list)) and len(axis) == 1 else axis
    return ROWS if query.types[0] == ROWS and axis == 1 and keeps else DENSE


def _csr_rows(query: StorageQuery) -> str | None:
    return CSR if query.types[0] == CSR else _alike(query, ())


def _slice(query: StorageQuery) -> str | None:
    steps = query.attributes["step"]
    steps = steps if isinstance(steps, (tuple, list)) else (steps,)
    return _csr_rows(query) if all(each in (None, 1) for each in steps) else _alike(query, ())


def _rows_taken(query: StorageQuery) -> str | None:
    of_rows = list(query.types) == [CSR, DENSE] and query.attributes["axis"] == 0
    return CSR if of_rows and query.attributes["mode"] in ("clip", "wrap") else _alike(query, ())


def _joined(query: StorageQuery) -> str | None:
    return _alike(query, (CSR,) if query.attributes["dim"] == 0 else ())


def _embedded(query: StorageQuery) -> str | None:
    return DENSE if query.types[0] == DENSE and query.types[1] in (DENSE, ROWS) else None


def _embedding_gradients(query: StorageQuery) -> Sequence[str]:
    return [DENSE, ROWS if query.attributes.get("sparse_grad", True) else DENSE]


def _retained(query: StorageQuery) -> str | None:
    return ROWS if query.types[0] == ROWS else None


def _chosen(query: StorageQuery) -> str | None:
    dense = query.types[1] == query.types[2] == DENSE
    return DENSE if dense and query.types[0] in (DENSE, CSR) else None


def _as_right(query: StorageQuery) -> str | None:
    return query.types[1]


SUM = Storage(_sum, _as_head)
SUM_OF_GRADIENTS = Storage(_alike, _as_head)
SUM_OF_ROWS = Storage(_sum_of_rows, _as_head)
PRODUCT = Storage(_product)
ALIKE = Storage(_alike)
CSR_TIMES_DENSE = Storage(_csr_times_dense)
CSR_PLUS_DENSE = Storage(_csr_plus_dense)
DIVIDED_ROWS = Storage(_divided_rows)
DOT = Storage(_dot, _dot_gradients)
TOTAL = Storage(_total)
NORM = Storage(_norm)
SQUARE_SUM = Storage(_square_sum, lambda query: [ROWS], rows_alone=True)
SLICE = Storage(_slice)
TAKE = Storage(_rows_taken)
JOINED = Storage(_joined)
EMBEDDING = Storage(_embedded, _embedding_gradients)
RETAINED = Storage(_retained, lambda query: [ROWS, DENSE], rows_alone=True)
CHOSEN = Storage(_chosen, _as_data)
CAST = Storage(lambda query: str(query.attributes["stype"]), _as_head)
LIKE_RIGHT = Storage(_as_right, lambda query: [query.head, query.types[1]])
COUNTED = Storage(lambda query: DENSE)
