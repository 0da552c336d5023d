"""Exchanges between CPU devices on the host have the results of XLA's collectives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import nd
from mixnet.kvstore.compression import Half, OneBit, TwoBit
from mixnet.kvstore.power_sgd import PowerSGD
from mixnet.runtime.devices import collective
from mixnet.runtime.interpret import exchange

CONTEXTS = [mx.cpu(i) for i in range(3)]


def group(shape: tuple[int, ...], dtype: str = "float32", seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    arrays = [nd.array(rng.normal(0, 9, shape), ctx, dtype) for ctx in CONTEXTS]
    return [each._read() for each in arrays]


def numbers(groups: list[list[Any]]) -> list[list[np.ndarray]]:
    return [[nd.NDArray(value).asnumpy() for value in each] for each in groups]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8"])
def test_sums_compile_no_program(dtype: str) -> None:
    groups = [group((2, 3), dtype), group((), dtype, 1), group((0, 2), dtype, 2)]
    nd.waitall()
    before = mx.runtime.counters()["programs_compiled"]
    sums = numbers(collective.all_reduce(groups))
    assert mx.runtime.counters()["programs_compiled"] == before
    for each, inputs in zip(sums, numbers(groups), strict=True):
        expected = inputs[0] + inputs[1] + inputs[2]
        for result in each:
            np.testing.assert_array_equal(result, expected)
            assert result.dtype == expected.dtype


def test_sums_over_devices_share_no_memory() -> None:
    (sums,) = collective.all_reduce([group((64, 64))])
    arrays = [nd.NDArray(value) for value in sums]
    before = arrays[1].asnumpy()
    arrays[0] += 1
    arrays[0].wait_to_read()
    np.testing.assert_array_equal(arrays[1].asnumpy(), before)


@pytest.mark.parametrize(
    "compression", [TwoBit(0.5), OneBit(0.1), Half("float16"), Half("bfloat16"), PowerSGD(2)]
)
def test_compression_agrees_with_the_compiled_program(compression: Any) -> None:
    shape = (7, 5)
    states = compression.state_shapes(shape) if isinstance(compression, PowerSGD) else [shape]
    assert states is not None
    groups = [group(shape), *[group(each, seed=1 + i) for i, each in enumerate(states)]]
    interpreted = numbers(collective.run_on_mesh(compression, groups))
    with mx.runtime.compiling_at_once():
        compiled = numbers(collective.run_on_mesh(compression, groups))
        nd.waitall()
    for of_numpy, of_xla in zip(interpreted, compiled, strict=True):
        np.testing.assert_allclose(of_numpy, of_xla, rtol=1e-5, atol=1e-5)


def test_a_frequently_run_exchange_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange.patience, "interpreted_runs", lambda cost: 2)
    monkeypatch.setattr(exchange, "_interpreted", {})
    on_mesh, programs = collective.on_mesh, []

    def watched(*arguments: Any) -> Any:
        programs.append(arguments)
        return on_mesh(*arguments)

    monkeypatch.setattr(collective, "on_mesh", watched)
    groups = [group((3,)), group((3,), seed=1)]
    results = []
    for _ in range(4):
        results.append(numbers(collective.run_on_mesh(TwoBit(0.25), groups)))
    assert len(programs) == 2
    for each in results[1:]:
        np.testing.assert_array_equal(each, results[0])
