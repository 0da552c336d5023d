"""Reductions over windows, as in pooling, and their gradients."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mixnet.private_jax.equation import Equation
from mixnet.runtime.interpret.on_numpy.reduce import combination, nothing
from mixnet.runtime.interpret.on_numpy.shape import padded
from mixnet.runtime.interpret.on_numpy.table import NoRuleError, Run, rule, wide


def _reduced(
    x: np.ndarray,
    ufunc: np.ufunc,
    sizes: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    shape: Sequence[int],
) -> Any:
    """Windows of a padded array reduced one axis after another."""
    for axis in sorted(range(x.ndim), key=lambda i: strides[i], reverse=True):
        size, stride, spread = sizes[axis], strides[axis], dilation[axis]
        if size == 1 and stride == 1:
            continue
        before = (slice(None),) * axis
        reach = (shape[axis] - 1) * stride + 1
        parts = [x[(*before, slice(i * spread, i * spread + reach, stride))] for i in range(size)]
        if size == 1:
            x = parts[0]
            continue
        x = ufunc(parts[0], parts[1])
        for part in parts[2:]:
            ufunc(x, part, out=x)
    return x


def _reduction(equation: Equation, ufunc: np.ufunc, params: dict[str, Any]) -> Run:
    """A function of the array and the value of its padding."""
    shape = equation.outvars[0].aval.shape
    sizes, strides = params["window_dimensions"], params["window_strides"]
    rank = len(shape)
    spread = params.get("base_dilation") or (1,) * rank
    dilation = params.get("window_dilation") or (1,) * rank
    config = [(low, high, d - 1) for (low, high), d in zip(params["padding"], spread, strict=True)]
    pads = any(any(each) for each in config)
    dtype = equation.outvars[0].aval.dtype
    kind = wide(dtype) if ufunc is np.add else dtype

    def run(x: Any, value: Any) -> Any:
        x = x.astype(kind, copy=False)
        if pads:
            x = padded(x, value, config)
        if not x.size or not all(shape):
            return np.full(shape, value, dtype)
        return _reduced(x, ufunc, sizes, strides, dilation, shape).astype(dtype, copy=False)

    return run


@rule("reduce_window_sum", "reduce_window_max", "reduce_window_min")
def _known(equation: Equation, **params: Any) -> Run:
    name, dtype = equation.primitive.name[-3:], equation.outvars[0].aval.dtype
    ufunc = {"sum": np.add, "max": np.maximum, "min": np.minimum}[name]
    value = dtype.type(0) if name == "sum" else nothing(name, dtype)
    run = _reduction(equation, ufunc, params)
    return lambda x: run(x, value)


@rule("reduce_window")
def _general(equation: Equation, jaxpr: Any, **params: Any) -> Run:
    if len(equation.outvars) > 1:
        raise NoRuleError("reduce_window of several arrays")
    ufunc = combination(jaxpr)
    run = _reduction(equation, ufunc, params)
    # Padding is neutral; the initial value counts once.
    identity = ufunc.identity
    if identity is None:  # max and min, for which repetition makes no difference
        return lambda x, start: ufunc(run(x, start), start)
    value = np.array(identity, equation.outvars[0].aval.dtype)
    return lambda x, start: ufunc(run(x, value), start)


# ---- the element that a window selects ----------------------------------------------------------


class _Selection:
    """The selection of each window: the first of its greatest (or least) elements."""

    def __init__(
        self, primitive: Any, params: dict[str, Any], extents: Sequence[int], shape: Sequence[int]
    ):
        name = primitive.name
        if math.prod(params["window_dimensions"]) >= 2**15:
            raise NoRuleError("selection from large windows")
        if name not in ("ge", "le"):
            raise NoRuleError("selection by " + name)
        self.precedes = np.greater_equal if name == "ge" else np.less_equal
        self.extreme = np.maximum if name == "ge" else np.minimum
        self.kind = "max" if name == "ge" else "min"
        self.sizes, self.strides = params["window_dimensions"], params["window_strides"]
        rank = len(extents)
        ones = (1,) * rank
        if (params.get("base_dilation") or ones) != ones:
            raise NoRuleError("selection from a dilated array")
        self.dilation = params.get("window_dilation") or ones
        self.pads, self.extents, self.shape = params["padding"], extents, shape

    def taps(self) -> Iterator[tuple[int, tuple[slice, ...], tuple[slice, ...]]]:
        """The number of each tap, from 1; the windows in which it lies on an element; and these elements."""
        for number, tap in enumerate(itertools.product(*map(range, self.sizes)), 1):
            windows, elements = [], []
            for t, dilation, stride, (low, _), extent, out in zip(
                tap, self.dilation, self.strides, self.pads, self.extents, self.shape, strict=True
            ):
                begin = t * dilation - low  # the element of window 0
                first = max(0, -(begin // stride))
                last = max(first, min(out, (extent - 1 - begin) // stride + 1))
                windows.append(slice(first, last))
                start = begin + first * stride
                stop = start + (last - first - 1) * stride + 1
                elements.append(slice(start, stop, stride) if last > first else slice(0, 0))
            yield number, tuple(windows), tuple(elements)

    def winners(self, x: np.ndarray) -> Any:
        """The number of the tap that each window selects, from 1; 0 if it selects none."""
        # Which element is the greatest is random, and random branches are slow: without NaN, extremes
        # and products replace them.
        whole = not (x.size and np.isnan(x.max())) if x.dtype.kind == "f" else x.dtype.kind != "V"
        best = np.full_like(x, nothing(self.kind, x.dtype), shape=self.shape)
        winner = np.zeros_like(x, np.int16, shape=self.shape)
        for number, windows, elements in self.taps():
            part, place, new = best[windows], winner[windows], x[elements]
            takes = ~self.precedes(part, new) | (place == 0)
            if whole:
                self.extreme(part, new, out=part)
            else:
                np.copyto(part, new, where=takes)
            np.maximum(place, takes * np.int16(number), out=place)
        return winner


@rule("select_and_scatter_add")
def _select_and_scatter(equation: Equation, select_prim: object, **params: Any) -> Run:
    source, operand = (v.aval for v in equation.invars)
    selection = _Selection(select_prim, params, operand.shape, source.shape)
    kind = wide(source.dtype)

    def run(head: Any, x: Any) -> Any:
        winner = selection.winners(x)
        head = head.astype(kind, copy=False)
        finite = kind.kind in "iu" or np.isfinite(head).all()
        result = np.zeros_like(x, kind)
        for number, windows, elements in selection.taps():
            chosen, heads = winner[windows] == number, head[windows]
            result[elements] += chosen * heads if finite else np.where(chosen, heads, kind.type(0))
        return result.astype(source.dtype, copy=False)

    return run


@rule("select_and_gather_add")
def _select_and_gather(equation: Equation, select_prim: object, **params: Any) -> Run:
    shape = equation.outvars[0].aval.shape
    selection = _Selection(select_prim, params, equation.invars[1].aval.shape, shape)

    def run(tangent: Any, x: Any) -> Any:
        winner = selection.winners(x)
        result = np.zeros(shape, tangent.dtype)
        for number, windows, elements in selection.taps():
            chosen = winner[windows] == number
            np.copyto(result[windows], tangent[elements], where=chosen)
        return result

    return run
