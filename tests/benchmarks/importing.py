"""Seconds of ``import mixnet`` beside ``import jax``, each in fresh processes, taking turns."""

from __future__ import annotations

import subprocess
import sys

from tests.benchmarks.timing import interleaved


def main() -> None:
    """Print both and the difference."""

    def fresh(module: str):
        return lambda: subprocess.run([sys.executable, "-c", f"import {module}"], check=True)

    result = interleaved({"jax": fresh("jax"), "mixnet": fresh("mixnet")}, repeats=7, warmup=1)
    extra = result["mixnet"] - result["jax"]
    print(
        f"import jax {result['jax']:.3f} s, import mixnet {result['mixnet']:.3f} s: +{extra:.3f} s"
    )


if __name__ == "__main__":
    main()
