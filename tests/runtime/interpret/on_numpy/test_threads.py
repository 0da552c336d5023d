"""Parts of a product on several threads: the same numbers, and threads that end with their work."""

from __future__ import annotations

import os
import threading
import warnings

import numpy as np
import pytest

from mixnet.runtime.compile import blas
from mixnet.runtime.interpret.on_numpy import product, threads


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((500, 300), (300, 700)),
        ((700, 300), (300, 500)),
        ((16, 130, 257), (16, 257, 190)),
        ((1, 140, 400), (5, 400, 510)),
    ],
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_products_in_parts_are_numpys(
    first: tuple[int, ...], second: tuple[int, ...], order: str
) -> None:
    random = np.random.default_rng(0)
    x, y = random.standard_normal(first), random.standard_normal(second)
    if order == "F":
        x, y = (np.ascontiguousarray(each.swapaxes(-1, -2)).swapaxes(-1, -2) for each in (x, y))
    np.testing.assert_allclose(product._in_parts(x, y, 3), x @ y, rtol=1e-10, atol=1e-10)


def test_each_part_is_computed_once() -> None:
    computed: list[int] = []
    threads.in_parts(computed.append, range(100), 4)
    assert sorted(computed) == list(range(100))


def test_parts_run_in_parallel() -> None:
    both = threading.Barrier(2, timeout=60)
    threads.in_parts(lambda part: both.wait(), range(2), 2)
    assert not both.broken


def test_an_error_in_another_thread_is_raised() -> None:
    this_thread, both = threading.get_ident(), threading.Barrier(2, timeout=60)

    def compute(part: int) -> None:
        both.wait()
        if threading.get_ident() != this_thread:
            raise ValueError("a part")

    before = blas.threads()
    with pytest.raises(ValueError, match="a part"):
        threads.in_parts(compute, range(2), 2)
    assert blas.threads() == before


def test_a_forked_process_starts_its_own_threads() -> None:
    threads.in_parts(lambda part: None, range(4), 2)
    with warnings.catch_warnings():
        # Newer versions of Python and JAX warn about threads.
        for category in (DeprecationWarning, RuntimeWarning):
            warnings.simplefilter("ignore", category)
        child = os.fork()
        if child == 0:
            both = threading.Barrier(2, timeout=60)
            threads.in_parts(lambda part: both.wait(), range(2), 2)
            os._exit(int(both.broken))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
