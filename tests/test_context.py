"""Contexts: several CPU devices in one process, and the errors without a GPU."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import mixnet as mx
from tests import processes

ROOT = Path(mx.__file__).parents[1]


def run(code: str, **environment: str) -> str:
    """What a program prints in a process of its own."""
    done = processes.run(
        [sys.executable, "-c", f"import mixnet as mx\n{code}"],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    return done.stdout.strip()


DEVICES = "print([mx.nd.ones(1, ctx=mx.cpu(i)).context.device.id for i in range(5)])"


def test_the_setting_gives_several_cpu_devices() -> None:
    assert run(DEVICES, MIXNET_CPU_DEVICES="3") == "[0, 1, 2, 0, 1]"


def test_a_call_before_first_use_gives_several_cpu_devices() -> None:
    code = (
        "mx.context.set_cpu_devices(2); mx.nd.ones(1); mx.context.set_cpu_devices(2)\n"
        f"{DEVICES}\n"
        "try: mx.context.set_cpu_devices(3)\n"
        "except mx.MXNetError as error: print(error)\n"
    )
    assert run(code).splitlines() == [
        "[0, 1, 0, 1, 0]",
        "3 CPU devices were requested, but JAX already runs with 2. "
        "Set MIXNET_CPU_DEVICES=3 before the program starts.",
    ]


def test_the_default_context() -> None:
    assert mx.Context.default_ctx is mx.cpu(0)
    with mx.cpu(1):
        assert mx.Context.default_ctx is mx.current_context() is mx.cpu(1)


def test_programs_set_the_default_context() -> None:
    assert mx.Context._default_ctx.value is mx.cpu(0)
    mx.Context._default_ctx.value = mx.cpu(1)
    try:
        assert mx.current_context() is mx.Context._default_ctx.value is mx.cpu(1)
    finally:
        mx.Context._default_ctx.value = mx.cpu(0)


@pytest.mark.skipif("mx.num_gpus() > 0", reason="there is a GPU")
def test_gpu_contexts_are_errors_without_a_gpu() -> None:
    assert mx.context.num_gpus() == 0 and str(mx.gpu(1)) == "gpu(1)"
    for use in (
        lambda: mx.nd.ones(1, ctx=mx.gpu()),
        lambda: mx.nd.ones(1).as_in_context(mx.gpu()),
        lambda: mx.gpu_memory_info(0),
    ):
        with pytest.raises(mx.MXNetError, match=r"gpu\(0\) does not exist.*Use mx.cpu\(\)"):
            use()


def test_a_program_on_a_cpu_has_run_when_its_call_returns() -> None:
    code = """
import jax, jax.numpy as jnp
jax.config.update("jax_default_device", "cpu")
matrix = jnp.ones((1500, 1500))
product = jax.jit(jnp.dot)
product(matrix, matrix).block_until_ready()
print(product(matrix, matrix).is_ready())
"""
    assert run(code) == "True"


@pytest.mark.parametrize("number", ["a", "1", None, []])
def test_a_device_number_is_a_number(number: object) -> None:
    with pytest.raises(TypeError, match="must be a whole number"):
        mx.cpu(number)
    with pytest.raises(TypeError, match="must be a whole number"):
        mx.Context("gpu", number)
