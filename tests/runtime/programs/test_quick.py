"""Programs are first compiled quickly, where XLA has options for that, then in the background for speed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import nd
from mixnet.runtime.compile import options
from mixnet.runtime.interpret import patience
from mixnet.runtime.programs import executable_cache
from tests import waiting


@pytest.fixture(autouse=True)
def compiled(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, str]]]:
    """The options of every compilation; programs are compiled at their first run, CPUs have quick options."""
    compiled_with: list[dict[str, str]] = []
    real = executable_cache.compile_for

    def noted(*arguments: Any) -> Any:
        compiled_with.append(dict(arguments[-1]))
        return real(*arguments)

    monkeypatch.setattr(executable_cache, "compile_for", noted)
    monkeypatch.setattr(patience, "interpreted_runs", lambda cost: 0)
    monkeypatch.setattr(executable_cache, "QUICK_RUNS", 5)
    monkeypatch.setitem(options.QUICK, "cpu", {"xla_backend_optimization_level": "0"})
    nd.waitall()
    executable_cache.clear()
    yield compiled_with
    executable_cache.clear()


def test_a_product_is_compiled_twice(
    compiled: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = threading.Event()
    compile_for = executable_cache.compile_for

    def when_ready(*arguments: Any) -> Any:
        assert arguments[-1] or ready.wait(60)
        return compile_for(*arguments)

    monkeypatch.setattr(executable_cache, "compile_for", when_ready)
    x = nd.array([[1.0, 2.0], [3.0, 4.0]])
    x.wait_to_read()

    def product() -> None:
        np.testing.assert_array_equal(nd.dot(x, x).asnumpy(), [[7, 10], [15, 22]])

    product()
    (program,) = executable_cache._programs.values()
    quick = program.call
    for _ in range(executable_cache.QUICK_RUNS + 5):  # none of them waits
        product()
        assert program.call is quick and compiled == [{"xla_backend_optimization_level": "0"}]
    ready.set()

    def is_replaced() -> bool:
        product()
        return program.call is not quick

    waiting.until(is_replaced)
    assert compiled == [{"xla_backend_optimization_level": "0"}, {}]


def test_the_quick_program_remains_if_the_optimized_one_cannot_be_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compile_for = executable_cache.compile_for

    def refuse(*arguments: Any) -> Any:
        if not arguments[-1]:
            raise RuntimeError("RESOURCE_EXHAUSTED")
        return compile_for(*arguments)

    monkeypatch.setattr(executable_cache, "compile_for", refuse)
    x = nd.array([[1.0, 2.0], [3.0, 4.0]])
    x.wait_to_read()

    def is_settled() -> bool:
        np.testing.assert_array_equal(nd.dot(x, x).asnumpy(), [[7, 10], [15, 22]])
        (program,) = executable_cache._programs.values()
        return program.change is None

    waiting.until(is_settled)
    assert is_settled()


def test_only_slow_programs_are_compiled_twice(compiled: list[dict[str, str]]) -> None:
    x = nd.array([1.0, 2.0])
    x.wait_to_read()
    for _ in range(executable_cache.QUICK_RUNS + 2):
        (nd.exp(x) * 2).wait_to_read()
    assert compiled == [{}]


def test_a_scope_that_compiles_immediately_optimizes_for_speed(
    compiled: list[dict[str, str]],
) -> None:
    x = nd.ones((2, 2))
    x.wait_to_read()
    before = len(compiled)
    with mx.runtime.compiling_at_once():
        nd.dot(x, x).wait_to_read()
    assert compiled[before:] == [{}]
