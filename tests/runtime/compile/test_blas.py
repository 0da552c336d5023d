"""The number of BLAS threads is restored, however a scope ends."""

from __future__ import annotations

import os
import signal
import warnings

import numpy as np
import pytest

from mixnet.runtime.compile import blas
from mixnet.runtime.interpret.on_numpy import product

needs_openblas = pytest.mark.skipif(
    blas._functions() is None, reason="NumPy has another BLAS than the OpenBLAS of its wheels"
)


def threads() -> int:
    functions = blas._functions()
    assert functions is not None
    return functions[0]()


@needs_openblas
def test_an_interrupt_in_a_product_leaves_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    before, inside = threads(), []

    def interrupted(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        inside.append(threads())
        signal.raise_signal(signal.SIGINT)
        return x @ y

    monkeypatch.setattr(product.np, "matmul", interrupted)
    with pytest.raises(KeyboardInterrupt):
        product.multiplied(np.ones((100, 100)), np.ones((100, 100)))
    assert inside == [1]
    assert threads() == before
    assert blas._one_thread._scopes == 0


@needs_openblas
def test_a_forked_process_has_no_open_scope() -> None:
    with warnings.catch_warnings(), blas.on_one_thread():
        # Newer versions of Python and JAX warn of threads.
        for category in (DeprecationWarning, RuntimeWarning):
            warnings.simplefilter("ignore", category)
        child = os.fork()
        if child == 0:
            os._exit(blas._one_thread._scopes)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert blas._one_thread._scopes == 0
