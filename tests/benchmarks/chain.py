"""A chain of 100 small element-wise operations, recorded and run."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

import mixnet as mx
from tests.benchmarks.timing import interleaved

OPERATIONS = 100
WARMUP = 6000  # runs after which the program is the compiled one


def main() -> None:
    """Print microseconds an operation and the ratios, for small arrays and for very small ones."""
    for size in (4, 32):
        measure(size)


def measure(size: int) -> None:
    """The chain on square arrays of that extent."""
    data = np.ones((size, size), np.float32)
    chain = f"chain of {OPERATIONS}, {size}x{size}"
    ours, jaxs = mx.nd.array(data), jnp.asarray(data)

    def mixnet_chain() -> None:
        x = ours
        for _ in range(OPERATIONS // 2):
            x = x * 1.01
            x = x + ours
        x.wait_to_read()

    def jax_chain() -> None:
        x = jaxs
        for _ in range(OPERATIONS // 2):
            x = x * 1.01
            x = x + jaxs
        x.block_until_ready()

    numpys = mx.np.array(data)

    def numpy_chain() -> None:
        x = numpys
        for _ in range(OPERATIONS // 2):
            x = x * 1.01
            x = x + numpys
        x.wait_to_read()

    contenders = {"mixnet": mixnet_chain, "mixnet mx.np": numpy_chain, "jax eager": jax_chain}
    try:
        import torch
    except ImportError:
        print("(PyTorch is not installed: pip install torch for its column)")
    else:
        torch.set_num_threads(1)
        theirs = torch.ones(size, size)

        def torch_chain() -> None:
            x = theirs
            for _ in range(OPERATIONS // 2):
                x = x * 1.01
                x = x + theirs

        contenders["torch eager"] = torch_chain
    result = interleaved(contenders, repeats=400, warmup=WARMUP)
    for name, seconds in result.items():
        print(f"{chain}: {name:12} {seconds / OPERATIONS * 1e6:6.2f} us an operation")
    for name in list(result)[1:]:
        print(f"{chain}: {name} / mixnet = {result[name] / result['mixnet']:.2f}")


if __name__ == "__main__":
    main()
