"""Vectors of factorizations have the same signs on NumPy as in a compiled program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

from mixnet.context import cpu
from mixnet.ops.registry import find
from mixnet.ops.tracing.traced import traced
from mixnet.runtime.interpret import runner
from mixnet.runtime.interpret.runner import runner_of

FACTORIZATIONS = ["_linalg_syevd", "_npi_eigh", "_npi_svd", "_linalg_gelqf"]


def matrix(size: int, dtype: str) -> np.ndarray:
    """A symmetric matrix whose eigenvalues, and singular values, are far apart."""
    vectors, _ = np.linalg.qr(np.random.RandomState(size).normal(size=(size, size)))
    return ((vectors * np.arange(1, size + 1)) @ vectors.T).astype(dtype)


def differences(size: int, dtype: str) -> np.ndarray:
    """A matrix whose eigenvectors have several largest elements, with different signs."""
    matrix = 2 * np.eye(size) - np.eye(size, k=1) - np.eye(size, k=-1)
    return matrix.astype(dtype)


@pytest.mark.parametrize("make", [matrix, differences])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [1, 5, 7])
@pytest.mark.parametrize("name", FACTORIZATIONS)
def test_the_compiled_operator_has_the_same_signs(
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    size: int,
    dtype: str,
    make: Callable[[int, str], np.ndarray],
) -> None:
    def refuse(*_: object) -> Any:
        raise AssertionError(f"{name} is compiled")

    monkeypatch.setattr(runner, "_compiled_alone", refuse)
    op, values = find(name), make(size, dtype)
    statics, _ = op.bind({})
    specs = ((values.shape, values.dtype),)
    interpreted = runner_of(op, statics, specs, 0, cpu()).run(values)
    with jax.enable_x64(True):
        compiled = jax.jit(lambda x: op.apply(statics, [x], []))(values)
    tolerance = 1e-3 if dtype == "float32" else 1e-9
    for one, other in zip(interpreted, compiled, strict=True):
        np.testing.assert_allclose(one, np.asarray(other), tolerance, tolerance)


def test_vectors_whose_signs_no_operator_sets_are_compiled() -> None:
    specs = (((4, 4), np.dtype("float32")),)
    op = find("_npi_eig")
    statics, _ = op.bind({})
    assert runner._has_arbitrary_signs(traced(op, statics, specs, 0))
