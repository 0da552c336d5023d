"""Rules of storage types that operators declare: which results, and gradients, are sparse. Asked
of MXNet 1.9.1 pair by pair.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from mixnet.ops.schema.storage import DENSE, Asked, Storage, all_dense

CSR, ROWS = "csr", "row_sparse"


# ---- of one array: 0 stays 0 ------------------------------------------------------------------------


def _as_head(asked: Asked) -> Sequence[str]:
    """The gradient is computed from the head alone."""
    return [asked.head] * len(asked.types)


def _as_both(asked: Asked) -> Sequence[str]:
    """The gradient is a product of head and data, and there is one where both are alike."""
    return [asked.head if asked.head == asked.types[0] else DENSE]


def _as_data(asked: Asked) -> Sequence[str]:
    """The gradient is 0, in the data's storage type."""
    return [asked.types[0], *[DENSE] * (len(asked.types) - 1)]


def _keeps_zero(
    gradients: Callable[[Asked], Sequence[str]] | None,
    where: Callable[[Asked], bool] | None = None,
    of: Sequence[str] = (CSR, ROWS),
) -> Storage:
    """The data's storage type, unless ``where`` says that 0 does not stay 0."""

    def output(asked: Asked) -> str | None:
        if asked.types[0] in of and (where is None or where(asked)):
            return asked.types[0]
        return DENSE if all_dense(asked.types) else None

    return Storage(output, gradients, on_stored=True)


def _is_zero(name: str) -> Callable[[Asked], bool]:
    return lambda asked: asked.attributes[name] == 0


def _false_at_zero(compare: Callable[[float, float], bool]) -> Callable[[Asked], bool]:
    return lambda asked: not compare(0.0, asked.attributes["scalar"])


def _zero_is_inside(asked: Asked) -> bool:
    return bool(asked.attributes["a_min"] <= 0 <= asked.attributes["a_max"])


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


def _alike(asked: Asked, of: Sequence[str] = (CSR, ROWS)) -> str | None:
    """The storage type that all inputs have."""
    first = asked.types[0]
    return first if first in (DENSE, *of) and set(asked.types) == {first} else None


def _sum(asked: Asked) -> str | None:
    # MXNet adds dense and sparse arrays without a copy, and gives a dense one.
    known = set(asked.types) in ({DENSE, CSR}, {DENSE, ROWS})
    return DENSE if known else _alike(asked)


def _sum_of_rows(asked: Asked) -> str | None:
    return _alike(asked, (ROWS,))


def _product(asked: Asked) -> str | None:
    if set(asked.types) in ({DENSE, CSR}, {DENSE, ROWS}):
        return next(each for each in asked.types if each != DENSE)
    return _alike(asked)


def _csr_times_dense(asked: Asked) -> str | None:
    return CSR if list(asked.types) == [CSR, DENSE] else _alike(asked, ())


def _csr_plus_dense(asked: Asked) -> str | None:
    return DENSE if set(asked.types) == {DENSE, CSR} else _alike(asked, ())


def _divided_rows(asked: Asked) -> str | None:
    return ROWS if asked.types[0] == ROWS else _alike(asked, ())


def _dot(asked: Asked) -> str | None:
    left, right = asked.types
    first, second = asked.attributes["transpose_a"], asked.attributes["transpose_b"]
    wanted = asked.attributes.get("forward_stype")
    if wanted is not None:
        return str(wanted)
    if left == CSR and right in (DENSE, ROWS) and not second:
        return ROWS if first else DENSE
    if (left, right) == (DENSE, CSR) and not first:
        return CSR
    return DENSE if (left, right) == (DENSE, DENSE) else None


def _dot_gradients(asked: Asked) -> Sequence[str]:
    """Of a csr matrix times something, the gradient of that has the rows that the matrix has as columns."""
    transposed = asked.attributes["transpose_a"] or asked.attributes["transpose_b"]
    by_rows = asked.types[0] == CSR and not transposed and asked.head != CSR
    return [DENSE, ROWS if by_rows else DENSE]


def _total(asked: Asked) -> str | None:
    if asked.types[0] == CSR and not (asked.attributes["keepdims"] or asked.attributes["exclude"]):
        return DENSE
    return _alike(asked, ())


def _norm(asked: Asked) -> str | None:
    whole = asked.attributes["axis"] is None and asked.attributes["ord"] == 2
    return DENSE if whole else _alike(asked, ())


def _square_sum(asked: Asked) -> str | None:
    axis, keeps = asked.attributes["axis"], asked.attributes["keepdims"]
    axis = axis[0] if isinstance(axis, (tuple, list)) and len(axis) == 1 else axis
    return ROWS if asked.types[0] == ROWS and axis == 1 and keeps else DENSE


def _csr_rows(asked: Asked) -> str | None:
    return CSR if asked.types[0] == CSR else _alike(asked, ())


def _slice(asked: Asked) -> str | None:
    steps = asked.attributes["step"]
    steps = steps if isinstance(steps, (tuple, list)) else (steps,)
    return _csr_rows(asked) if all(each in (None, 1) for each in steps) else _alike(asked, ())


def _taken(asked: Asked) -> str | None:
    of_rows = list(asked.types) == [CSR, DENSE] and asked.attributes["axis"] == 0
    return CSR if of_rows and asked.attributes["mode"] in ("clip", "wrap") else _alike(asked, ())


def _joined(asked: Asked) -> str | None:
    return _alike(asked, (CSR,) if asked.attributes["dim"] == 0 else ())


def _embedded(asked: Asked) -> str | None:
    return DENSE if asked.types[0] == DENSE and asked.types[1] in (DENSE, ROWS) else None


def _embedding_gradients(asked: Asked) -> Sequence[str]:
    return [DENSE, ROWS if asked.attributes.get("sparse_grad", True) else DENSE]


def _retained(asked: Asked) -> str | None:
    return ROWS if asked.types[0] == ROWS else None


def _chosen(asked: Asked) -> str | None:
    dense = asked.types[1] == asked.types[2] == DENSE
    return DENSE if dense and asked.types[0] in (DENSE, CSR) else None


def _as_right(asked: Asked) -> str | None:
    return asked.types[1]


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
SQUARE_SUM = Storage(_square_sum, lambda asked: [ROWS], rows_alone=True)
SLICE = Storage(_slice)
TAKE = Storage(_taken)
JOINED = Storage(_joined)
EMBEDDING = Storage(_embedded, _embedding_gradients)
RETAINED = Storage(_retained, lambda asked: [ROWS, DENSE], rows_alone=True)
CHOSEN = Storage(_chosen, _as_data)
CAST = Storage(lambda asked: str(asked.attributes["stype"]), _as_head)
LIKE_RIGHT = Storage(_as_right, lambda asked: [asked.head, asked.types[1]])
COUNTED = Storage(lambda asked: DENSE)
