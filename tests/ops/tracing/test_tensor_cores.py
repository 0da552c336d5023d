"""Which products of float32 a GPU's program may round."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mixnet.ops.nn.convolve import convolve
from mixnet.ops.tracing.tensor_cores import products_for

IMAGE, KERNEL = np.zeros((1, 2, 5, 5), "float32"), np.zeros((3, 2, 3, 3), "float32")


def exact(platform: str) -> tuple[bool, bool]:
    """Whether XLA must not round the factors of a matrix product, and of a convolution with its gradients."""

    def product(x: jax.Array) -> jax.Array:
        return x @ x

    def convolution(data: jax.Array, kernel: jax.Array) -> jax.Array:
        order = ("NCHW", "OIHW", "NCHW")
        return (convolve(data, kernel, (1, 1), [(0, 0)] * 2, (1, 1), order) ** 2).sum()

    with products_for(platform):
        matrix = jax.jit(product).lower(jnp.zeros((2, 2))).as_text()
        gradients = jax.jit(jax.grad(convolution, (0, 1))).lower(IMAGE, KERNEL).as_text()
    assert gradients.count("stablehlo.convolution") == 3
    counts = matrix.count("HIGHEST"), gradients.count("HIGHEST")
    assert counts in ((0, 0), (2, 0), (0, 6), (2, 6))  # of two factors each
    return counts[0] > 0, counts[1] > 0


@pytest.mark.parametrize(
    ("platform", "setting", "expected"),
    [
        ("cpu", "convolutions", (False, False)),
        ("gpu", "convolutions", (True, False)),
        ("gpu", "off", (True, True)),
        ("gpu", "all", (False, False)),
    ],
)
def test_a_setting_decides(
    platform: str, setting: str, expected: tuple[bool, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MIXNET_TF32", setting)
    assert exact(platform) == expected


def test_settings_of_jax_made_by_the_user_are_respected() -> None:
    with jax.default_matmul_precision("highest"):
        assert exact("gpu") == (True, True)
