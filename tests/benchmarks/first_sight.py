"""First sight: a cell of 20 new operations on new shapes, and a loop whose results are not read.

Every repeat takes shapes that were never seen, so everything is compiled. The caches on disk are
off: they would only make it quicker.
"""

from __future__ import annotations

import os
import statistics
import time

os.environ.setdefault("MIXNET_CACHE_DIR", "off")

import jax
import jax.numpy as jnp

import mixnet as mx


def jax_cell(n: int) -> None:
    """20 operations, each compiled by itself."""
    x = jnp.ones((n, 7))
    y = jnp.full((7, n + 1), 0.5)
    a = x * 2 + 1
    b = jnp.tanh(a) - x
    c = b @ y
    d = jnp.exp(-c) / (1 + c * c)
    e = d.sum(axis=1)
    f = jnp.sqrt(e + 1).reshape(-1, 1)
    g = d * f
    h = jnp.concatenate([g, g], axis=0)
    i = jnp.maximum(h, 0).mean(axis=0)
    j = i.max() - i.min()
    jnp.abs(j).block_until_ready()


def mixnet_cell(n: int) -> None:
    """The same 20 operations."""
    nd = mx.nd
    x = nd.ones((n, 7))
    y = nd.full((7, n + 1), 0.5)
    a = x * 2 + 1
    b = nd.tanh(a) - x
    c = nd.dot(b, y)
    d = nd.exp(-c) / (1 + c * c)
    e = d.sum(axis=1)
    f = nd.sqrt(e + 1).reshape((-1, 1))
    g = d * f
    h = nd.concat(g, g, dim=0)
    i = nd.relu(h).mean(axis=0)
    j = i.max() - i.min()
    nd.abs(j).wait_to_read()


def jax_loop(n: int) -> None:
    """300 operations in a loop."""
    x = jnp.ones((n, n)) / n
    y = x
    for _ in range(100):
        y = jax.nn.softmax(y @ x) + 0.1
    y.block_until_ready()


def mixnet_loop(n: int) -> None:
    """The same."""
    x = mx.nd.ones((n, n)) / n
    y = x
    for _ in range(100):
        y = mx.nd.dot(y, x).softmax() + 0.1
    y.wait_to_read()


def main() -> None:
    """Print milliseconds and the ratio."""
    for name, ours, theirs in (
        ("cell of 20 operations", mixnet_cell, jax_cell),
        ("loop of 300 operations", mixnet_loop, jax_loop),
    ):
        times: dict[str, list[float]] = {"mixnet": [], "jax": []}
        for repeat in range(9):
            for label, run in (("mixnet", ours), ("jax", theirs)):
                start = time.perf_counter()
                run(20 + repeat)
                times[label].append(time.perf_counter() - start)
        own, jax_time = (statistics.median(times[each][1:]) for each in ("mixnet", "jax"))
        print(
            f"first sight: {name}: mixnet {own * 1e3:.0f} ms, JAX eager {jax_time * 1e3:.0f} ms, "
            f"ratio {own / jax_time:.2f}"
        )


if __name__ == "__main__":
    main()
