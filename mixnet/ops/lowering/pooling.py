"""Pooling in two dimensions with channels last, and its gradient.

Small windows are taken apart: one strided slice of the data for each place of a window, and the
largest or the sum of the slices. These are operations that XLA fuses and vectorizes over channels,
where its windowed reduction and the scatter that is its gradient go element by element.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.typing import DTypeLike

from mixnet.ops.lowering.lowering import Lowering

Pair = tuple[int, int]
Taps = list[tuple[int, Any]]
_LARGEST_WINDOW = 16  # places; splitting larger windows is slower


def pooling(
    data: Any,
    *,
    kernel: Pair,
    stride: Pair,
    widths: tuple[Pair, Pair],
    pool_type: str,
    counts: Any = None,
) -> Any:
    """The largest, the sum or the mean of every window of ``(batch, height, width, channels)``.

    Args:
        data: channels last.
        widths: padding before and after, for height and width.
        pool_type: ``max``, ``sum`` or ``avg``.
        counts: for ``avg``: by how much to divide, for each place of the result as nested tuples,
            or one number.
    """
    places = kernel[0] * kernel[1]
    if kernel == data.shape[1:3] and not np.any(widths):
        reduce: Callable[..., Any] = jnp.max if pool_type == "max" else jnp.sum
        out = reduce(data, (1, 2), keepdims=True)
    elif places <= _LARGEST_WINDOW:
        join = jnp.maximum if pool_type == "max" else jnp.add
        nothing = _lowest(data.dtype) if pool_type == "max" else 0

        def together(taps: Taps, shape: tuple[int, ...]) -> Any:
            if not taps:
                return jnp.full(shape, nothing, data.dtype)
            return functools.reduce(join, [each for _, each in taps])

        out = _over_windows(data, kernel, stride, widths, together)
    else:
        out = _windows(data, kernel, stride, widths, pool_type)
    if pool_type == "max":
        floating = jnp.issubdtype(data.dtype, jnp.floating)
        # A window of nothing but padding has the least finite number in MXNet.
        return jnp.maximum(out, jnp.finfo(data.dtype).min) if floating else out
    return _divided(out, counts) if pool_type == "avg" else out


def pooling_gradient(
    head: Any,
    *data: Any,
    extents: Pair,
    kernel: Pair,
    stride: Pair,
    widths: tuple[Pair, Pair],
    pool_type: str,
    counts: Any = None,
) -> Any:
    """Gradient of the data, ``(batch, *extents, channels)``, from the result's.

    Args:
        data: for ``max`` the data; its gradient goes to the first of the largest elements.
        extents: height and width of the data.
    """
    if pool_type == "avg":
        head = _divided(head, counts)
    batch, channels = head.shape[0], head.shape[-1]
    whole = kernel == extents and not np.any(widths)
    if pool_type != "max" and whole:
        return jnp.broadcast_to(head, (batch, *extents, channels))
    if kernel[0] * kernel[1] > _LARGEST_WINDOW:
        primal = data[0] if data else jnp.zeros((batch, *extents, channels), head.dtype)
        _, pull = jax.vjp(lambda x: _windows(x, kernel, stride, widths, pool_type), primal)
        return pull(head)[0]
    winner = None
    if pool_type == "max":
        winner = _over_windows(data[0], kernel, stride, widths, _winner)
    return _gathered(head, winner, extents, kernel, stride, widths)


def _gathered(
    head: Any,
    winner: Any,
    extents: Pair,
    kernel: Pair,
    stride: Pair,
    widths: tuple[Pair, Pair],
) -> Any:
    """For each element of the data, the sum over the windows that it is in.

    Elements of equal residue modulo the stride stand at the same places of their windows; each
    residue is gathered by itself, and they are interleaved. What is shifted is padded before and
    read at an offset, rather than shifted by padding: then XLA would ask at every element whether
    it is in the padding, and compute what the gradient comes from for each place of a window.

    Args:
        winner: the place in each window that its gradient goes to; None: to all of them.
    """
    lengths = [-(-(n + sum(w)) // s) for n, w, s in zip(extents, widths, stride, strict=True)]
    reach = [(k - 1) // s for k, s in zip(kernel, stride, strict=True)]
    margin = [
        (before, max(0, length - out))
        for before, length, out in zip(reach, lengths, head.shape[1:3], strict=True)
    ]
    heads = jnp.pad(head, ((0, 0), *margin, (0, 0)))
    if winner is not None:
        winner = jnp.pad(winner, ((0, 0), *margin, (0, 0)), constant_values=-1)
    rows = []
    for row in range(stride[0]):
        parts = []
        for column in range(stride[1]):
            total = jnp.zeros((head.shape[0], *lengths, head.shape[-1]), head.dtype)
            for i in range(row, kernel[0], stride[0]):
                for j in range(column, kernel[1], stride[1]):
                    above, aside = reach[0] - i // stride[0], reach[1] - j // stride[1]
                    down, across = (
                        slice(above, above + lengths[0]),
                        slice(aside, aside + lengths[1]),
                    )
                    each = heads[:, down, across]
                    if winner is not None:
                        is_winner = winner[:, down, across] == i * kernel[1] + j
                        each = jnp.where(is_winner, each, 0)
                    total = total + each
            parts.append(total)
        rows.append(_interleave(parts, 2))
    out = _interleave(rows, 1)
    (top, _), (left, _) = widths
    return out[:, top : top + extents[0], left : left + extents[1]]


def _over_windows(
    data: Any,
    kernel: Pair,
    stride: Pair,
    widths: Any,
    combine: Callable[[Taps, Any], Any],
) -> Any:
    """``combine(taps, shape)`` of all windows; taps are the elements at each place of a window,
    with its number.

    Windows that reach into the padding have fewer places: they are computed separately, and put
    beside the others. To pad the data instead is to copy them, which takes longer than all the rest.
    """
    down, across = (
        _alike(n, k, s, w)
        for n, k, s, w in zip(data.shape[1:3], kernel, stride, widths, strict=True)
    )
    rows = []
    for height, rows_of in down:
        row = []
        for width, columns_of in across:
            taps = [
                (i * kernel[1] + j, data[:, rows_of[i], columns_of[j]])
                for i in rows_of
                for j in columns_of
            ]
            row.append(combine(taps, (data.shape[0], height, width, data.shape[-1])))
        rows.append(row[0] if len(row) == 1 else jnp.concatenate(row, 2))
    return rows[0] if len(rows) == 1 else jnp.concatenate(rows, 1)


def _alike(
    extent: int, kernel: int, stride: int, width: Pair
) -> list[tuple[int, dict[int, slice]]]:
    """Windows in a row with the same places inside the data: how many, and where each place reads."""
    before, after = width
    starts = [i * stride - before for i in range((extent + before + after - kernel) // stride + 1)]
    inside = [tuple(t for t in range(kernel) if 0 <= start + t < extent) for start in starts]
    groups = []
    for places, group in itertools.groupby(range(len(starts)), key=lambda i: inside[i]):
        first, *rest = group
        reach = len(rest) * stride + 1
        groups.append(
            (
                1 + len(rest),
                {t: slice(starts[first] + t, starts[first] + t + reach, stride) for t in places},
            )
        )
    return groups


def _winner(taps: Taps, shape: tuple[int, ...]) -> Any:
    """Number of the first of the largest places."""
    if not taps:
        return jnp.zeros(shape, jnp.int8)
    (number, best), *rest = taps
    winner = jnp.full(shape, number, jnp.int8)
    for number, each in rest:
        winner = jnp.where(each > best, jnp.int8(number), winner)
        best = jnp.maximum(best, each)
    return winner


def _lowest(dtype: DTypeLike) -> Any:
    return -np.inf if jnp.issubdtype(dtype, jnp.floating) else np.iinfo(dtype).min


def _interleave(parts: Sequence[Any], axis: int) -> Any:
    if len(parts) == 1:
        return parts[0]
    shape = list(parts[0].shape)
    shape[axis] *= len(parts)
    return jnp.stack(parts, axis + 1).reshape(shape)


def _windows(data: Any, kernel: Pair, stride: Pair, widths: Any, pool_type: str) -> Any:
    window = (1, *kernel, 1), (1, *stride, 1), ((0, 0), *widths, (0, 0))
    if pool_type != "max":
        return lax.reduce_window(data, np.zeros((), data.dtype), lax.add, *window)
    return lax.reduce_window(data, np.array(_lowest(data.dtype), data.dtype), lax.max, *window)


def _divided(total: jax.Array, counts: jax.Array) -> Any:
    if not isinstance(counts, tuple):
        return total / counts
    return total / np.asarray(counts, total.dtype)[None, :, :, None]


def window_counts(
    extents: Pair, kernel: Pair, stride: Pair, pad: Pair, widths: Any, include_pad: bool
) -> Any:
    """Elements of each window that a mean counts: one number if it is the same everywhere.

    Args:
        pad: padding that was asked for; counted with ``include_pad``.
        widths: padding before and after that there is.
    """
    axes = []
    for n, k, s, p, (before, after) in zip(extents, kernel, stride, pad, widths, strict=True):
        start = np.arange((n + before + after - k) // s + 1) * s
        low, high = (0, n + 2 * p) if include_pad else (before, before + n)
        axes.append(np.minimum(start + k, high) - np.maximum(start, low))
    counts = np.maximum(np.outer(*axes), 1)
    if counts.min() == counts.max():
        return int(counts.flat[0])
    return tuple(tuple(int(c) for c in row) for row in counts)


POOLING = Lowering("Pooling_channels_last", pooling)
POOLING_GRADIENT = Lowering("Pooling_gradient", pooling_gradient)
