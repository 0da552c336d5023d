"""Convolutions of known networks, forward and both gradients: the time with each implementation.

For each shape, in GFLOP/s: ``written`` is XLA's convolution as MXNet writes it, channels first;
``xla`` the same with channels last; ``onednn`` what the layout pass takes where XLA has it;
``dot`` matrix products.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from mixnet.ops.lowering import convolution, onednn
from mixnet.passes.choose_layout import cache_folder
from mixnet.runtime.compile import disk_cache
from mixnet.runtime.compile.options import chosen_options
from mixnet.runtime.devices.host_memory import keep_freed_memory
from tests.benchmarks.timing import interleaved

# batch, channels, extent, filters, kernel, stride, pad
SHAPES = {
    "LeNet 1": (64, 1, 28, 20, 5, 1, 0),
    "LeNet 2": (64, 20, 12, 50, 5, 1, 0),
    "ResNet stem": (16, 3, 224, 64, 7, 2, 3),
    "ResNet 56 3x3": (16, 64, 56, 64, 3, 1, 1),
    "ResNet 56 3x3/2": (16, 64, 56, 128, 3, 2, 1),
    "ResNet 28 3x3": (16, 128, 28, 128, 3, 1, 1),
    "ResNet 14 3x3": (16, 256, 14, 256, 3, 1, 1),
    "ResNet 7 3x3": (16, 512, 7, 512, 3, 1, 1),
    "ResNet 56 1x1": (16, 64, 56, 256, 1, 1, 0),
    "ResNet 14 1x1": (16, 1024, 14, 256, 1, 1, 0),
    "ResNet 56 1x1/2": (16, 64, 56, 128, 1, 2, 0),
    "VGG 224 3x3": (8, 64, 224, 64, 3, 1, 1),
    "VGG 28 3x3": (8, 512, 28, 512, 3, 1, 1),
}


def compiled(function: Callable[..., Any], *arrays: Any, options: bool = True) -> Callable[[], Any]:
    """A call of the compiled function that waits for its result."""
    run = jax.jit(function, compiler_options=chosen_options() if options else {})
    return lambda: jax.block_until_ready(run(*arrays))


def contenders(name: str) -> tuple[float, dict[str, dict[str, Callable[[], Any]]]]:
    """GFLOP of one call; for each of forward, data, weight the ways to compute it."""
    batch, channels, extent, filters, size, step, border = SHAPES[name]
    random = np.random.default_rng(0)

    def draw(*shape: int) -> Any:
        return jax.numpy.asarray(random.standard_normal(shape), np.float32)

    data, weight = draw(batch, channels, extent, extent), draw(filters, channels, size, size)
    kernel, stride, pad, dilate = (size, size), (step, step), (border, border), (1, 1)
    out = (extent + 2 * border - size) // step + 1
    head = draw(batch, filters, out, out)

    def written(data: Any, weight: Any) -> Any:
        return jax.lax.conv_general_dilated(data, weight, stride, [(p, p) for p in pad])

    inner = [jax.numpy.transpose(each, (0, 2, 3, 1)) for each in (data, head)]
    same: dict[str, Any] = {"stride": stride, "dilate": dilate, "pad": pad}
    ways: dict[str, dict[str, Callable[[], Any]]] = {
        "forward": {"written": compiled(written, data, weight, options=False)},
        "data": {
            "written": compiled(
                lambda d, w, h: jax.vjp(lambda x: written(x, w), d)[1](h)[0],
                data, weight, head, options=False,
            )
        },
        "weight": {
            "written": compiled(
                lambda d, w, h: jax.vjp(lambda x: written(d, x), w)[1](h)[0],
                data, weight, head, options=False,
            )
        },
    }  # fmt: skip
    methods = ["xla", "dot"] if size == 1 else ["xla"]
    has = onednn.available(cache_folder())
    for method in [*methods, *(["onednn"] if has else [])]:
        ways["forward"][method] = compiled(
            lambda d, w, m=method: convolution.convolution(d, w, method=m, **same), inner[0], weight
        )
        ways["data"][method] = compiled(
            lambda h, w, m=method: convolution.data_gradient(
                h, w, extents=(extent, extent), method=m, **same
            ),
            inner[1],
            weight,
        )
    for method in ("xla", "dot"):
        ways["weight"][method] = compiled(
            lambda h, d, m=method: convolution.weight_gradient(
                h, d, kernel=kernel, method=m, **same
            ),
            inner[1],
            inner[0],
        )
    flops = 2e-9 * batch * out * out * channels * filters * size * size
    return flops, ways


def main(names: Any = tuple(SHAPES)) -> None:
    """Print one line for each shape and direction."""
    keep_freed_memory()
    print(f"{'shape':18}{'':9}{'GFLOP':>7}  GFLOP/s")
    for name in names:
        flops, ways = contenders(name)
        for direction, runs in ways.items():
            with disk_cache.not_on_disk():
                seconds = interleaved(runs, repeats=10, warmup=2)
            figures = "  ".join(f"{way} {flops / s:4.0f}" for way, s in seconds.items())
            print(f"{name:18}{direction:9}{flops:7.2f}  {figures}", flush=True)


if __name__ == "__main__":
    main()
