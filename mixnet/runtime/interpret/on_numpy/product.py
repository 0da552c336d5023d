"""Matrix products, by BLAS."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mixnet.private_jax.equation import Equation
from mixnet.process.interrupt import Deferred
from mixnet.runtime.compile import blas
from mixnet.runtime.interpret.on_numpy.table import Run, rule, wide
from mixnet.runtime.interpret.on_numpy.threads import in_parts

_EXACT = 2**53
"""Up to this number, float64 represents every integer."""


_ALONE, _SHARED = 1 << 18, 1 << 26
"""The number of multiplications from which OpenBLAS would divide a product among its threads, and that from
which waking threads pays off here (:mod:`mixnet.runtime.interpret.on_numpy.threads`).
"""


def multiplied(x: np.ndarray, y: np.ndarray) -> Any:
    """``np.matmul``; large products in parts."""
    each = x.shape[-2] * x.shape[-1] * y.shape[-1]
    if each <= _ALONE:
        return np.matmul(x, y)
    threads = blas.threads()
    if threads == 1:
        return np.matmul(x, y)
    if each * max(math.prod(x.shape[:-2]), math.prod(y.shape[:-2])) < _SHARED:
        with Deferred(), blas.on_one_thread():  # an interrupt must not leave BLAS on one thread
            return np.matmul(x, y)
    return _in_parts(x, y, threads)


def _in_parts(x: np.ndarray, y: np.ndarray, threads: int) -> Any:
    """The product, by blocks of its rows or columns, whichever are more."""
    stack = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    rows, columns = x.shape[-2], y.shape[-1]
    result = np.empty((*stack, rows, columns), np.result_type(x, y))
    length = -(-max(rows, columns) // (2 * threads))
    length += -length % 16  # whole vectors

    def compute(part: slice) -> None:
        if rows >= columns:
            np.matmul(x[..., part, :], y, out=result[..., part, :])
        else:
            np.matmul(x, y[..., part], out=result[..., part])

    in_parts(compute, (slice(i, i + length) for i in range(0, max(rows, columns), length)), threads)
    return result


def matmul(x: np.ndarray, y: np.ndarray) -> Any:
    """The product of two (stacks of) matrices of one dtype, none of half precision.

    Integers are multiplied as float64 as long as no sum can exceed 2**53, up to which float64 represents
    every integer: NumPy's own product of integers is many times slower.
    """
    if x.dtype.kind not in "iu":
        return multiplied(_direct(x), _direct(y))
    if not x.size or not y.size:
        return np.matmul(x, y)
    if _largest(x) * _largest(y) * x.shape[-1] < _EXACT:
        result = multiplied(x.astype(np.float64), y.astype(np.float64))
        return result.astype(np.int64).astype(x.dtype)
    return np.matmul(x, y)


def _largest(x: np.ndarray) -> int:
    return max(abs(int(x.max())), abs(int(x.min())))


def _direct(x: np.ndarray) -> Any:
    """The array as BLAS can read it: rows or columns without gaps."""
    size = x.itemsize
    if x.ndim > 1 and x.strides[-1] != size and x.strides[-2] != size:
        return np.ascontiguousarray(x)
    return x


@rule("dot_general")
def _dot(equation: Equation, dimension_numbers: Any, **_: object) -> Run:
    (left, right), (left_batch, right_batch) = dimension_numbers
    one, two = (v.aval for v in equation.invars)
    out = equation.outvars[0].aval.dtype
    kind = wide(out)
    if out.kind == "b":
        kind = np.dtype(np.float32)
    left_free = [i for i in range(one.ndim) if i not in (*left, *left_batch)]
    right_free = [i for i in range(two.ndim) if i not in (*right, *right_batch)]
    first = [int(i) for i in (*left_batch, *left_free, *left)]
    second = [int(i) for i in (*right_batch, *right, *right_free)]
    batch = [one.shape[i] for i in left_batch]
    rows = [one.shape[i] for i in left_free]
    columns = [two.shape[i] for i in right_free]
    inner = math.prod(one.shape[i] for i in left)
    are_floats = one.dtype == two.dtype == kind and kind.kind == "f"
    if are_floats and not batch and one.ndim == two.ndim == 2 and len(left) == 1:
        return _of_matrices(first, second)
    forms = (*batch, math.prod(rows), inner), (*batch, inner, math.prod(columns))
    shape = (*batch, *rows, *columns)

    def run(x: Any, y: Any) -> Any:
        x = x.astype(kind, copy=False).transpose(first).reshape(forms[0])
        y = y.astype(kind, copy=False).transpose(second).reshape(forms[1])
        return matmul(x, y).reshape(shape).astype(out, copy=False)

    return run


def _of_matrices(first: list[int], second: list[int]) -> Run:
    if first == [0, 1]:
        if second == [0, 1]:
            return multiplied
        return lambda x, y: multiplied(x, y.T)
    if second == [0, 1]:
        return lambda x, y: multiplied(x.T, y)
    return lambda x, y: multiplied(x.T, y.T)
