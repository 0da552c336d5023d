"""Random numbers: threefry, the same bits as on a device. A key is a row of two words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mixnet.ops.random.threefry import MASK, bits, fold_in, stream, threefry
from mixnet.private_jax.equation import Equation
from mixnet.runtime.interpret.on_numpy.table import NoRuleError, Run, rule


@rule("threefry2x32")
def _threefry(equation: Equation, **_: object) -> Run:
    if any(v.aval.shape for v in equation.invars[:2]):
        raise NoRuleError("threefry2x32 of several keys")
    return lambda one, two, first, second: threefry((one, two), first, second)


def _of_each(run: Run, shape: tuple[int, ...]) -> Run:
    """Apply a function of one key, and possibly a number, to arrays of keys and numbers."""

    def of_each(keys: np.ndarray, *numbers: Any) -> Any:
        rows = np.broadcast_to(keys, (*shape, 2)).reshape(-1, 2)
        more = [np.broadcast_to(each, shape).reshape(-1) for each in numbers]
        draws = np.stack([run(*each) for each in zip(rows, *more, strict=True)])
        return draws.reshape(*shape, *draws.shape[1:])

    return of_each


@rule("random_fold_in")
def _fold_in(equation: Equation, **_: object) -> Run:
    shape = equation.outvars[0].aval.shape
    return _of_each(fold_in, shape) if math.prod(shape) and shape else fold_in


@rule("random_bits")
def _bits(equation: Equation, bit_width: int, shape: Any, **_: object) -> Run:
    dtype = np.dtype(f"u{bit_width // 8}")
    size = math.prod(shape)

    def run(key: Any) -> Any:
        if size <= 4:
            pairs = [threefry(key, 0, i) for i in range(size)]
            high = np.array([pair[0] for pair in pairs], np.uint32)
            low = np.array([pair[1] for pair in pairs], np.uint32)
        elif bit_width == 64:
            high, low = stream(key, size)
        else:
            return bits(key, size).astype(dtype, copy=False).reshape(shape)
        if bit_width == 64:
            return ((high.astype(np.uint64) << np.uint64(32)) | low).reshape(shape)
        return (high ^ low).astype(dtype, copy=False).reshape(shape)

    return _of_keys(run, equation)


@rule("random_split")
def _split(equation: Equation, shape: Sequence[int], **_: object) -> Run:
    size = math.prod(shape)

    def run(key: Any) -> Any:
        keys = [threefry(key, i >> 32, i & MASK) for i in range(size)]
        return np.array(keys, np.uint32).reshape(*shape, 2)

    return _of_keys(run, equation)


def _of_keys(run: Run, equation: Equation) -> Run:
    keys = equation.invars[0].aval.shape
    if 0 in keys:
        raise NoRuleError(equation.primitive.name)
    return _of_each(run, keys) if keys else run


@rule("random_seed")
def _seed(equation: Equation, **_: object) -> Run:
    if equation.invars[0].aval.shape:
        raise NoRuleError("random_seed")

    def run(seed: Any) -> Any:
        number = int(seed)
        return np.array([(number >> 32) & MASK, number & MASK], np.uint32)

    return run
