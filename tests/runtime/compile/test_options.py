"""Options of XLA's compiler."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import mixnet as mx
from mixnet.runtime.compile.options import QUICK, options_to_read, quick_options


@pytest.mark.skipif("jax.default_backend() != 'cpu'", reason="the option is for CPUs")
def test_a_program_compiled_for_reading_has_the_instructions_of_the_optimized_one() -> None:
    def network(x: jax.Array, w: jax.Array) -> jax.Array:
        return jnp.tanh(lax.conv(x, w, (1, 1), "SAME") + 1).sum(axis=(2, 3))

    def instructions(options: dict[str, str]) -> str:
        structs = [jax.ShapeDtypeStruct(shape, "float32") for shape in ((2, 3, 8, 8), (4, 3, 3, 3))]
        return str(jax.jit(network, compiler_options=options).lower(*structs).compile().as_text())

    text = instructions(options_to_read("cpu"))
    assert "fusion" in text
    assert text == instructions({"xla_backend_optimization_level": "3"})


def test_other_platforms_have_no_options_to_read() -> None:
    assert options_to_read("cuda") == {}


def test_products_of_a_gpu_can_be_compiled_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    x = mx.sym.Variable("x")
    product, sums = mx.sym.dot(x, x).graph, (x + x).graph
    assert quick_options(product, "gpu") == QUICK["gpu"] != {}
    assert quick_options(sums, "gpu") == quick_options(product, "cpu") == {}
    monkeypatch.setitem(QUICK, "gpu", {"xla_option_of_another_version": "0"})
    assert quick_options(product, "gpu") == {}
