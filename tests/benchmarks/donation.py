"""Updates of 100 million parameters: peak memory of a training step, compared with the memory needed.

The peak is what XLA says of the step's program: arguments, results that do not take over an argument's
buffer, and temporaries. Each rule runs in a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import jax

from mixnet import autograd, gluon, nd
from mixnet.runtime.compile import ahead
from mixnet.runtime.record import segment

LAYERS, WIDTH, BATCH = 25, 2000, 16
STATES = {"sgd": 0, "adam": 2}


def measure(rule: str) -> None:
    """Print gigabytes for one rule: a network of 25 dense layers of 2,000 by 2,000."""
    net = gluon.nn.HybridSequential()
    for _ in range(LAYERS):
        net.add(gluon.nn.Dense(WIDTH, in_units=WIDTH, use_bias=False, activation="tanh"))
    net.initialize()
    net.hybridize()
    x = nd.ones((BATCH, WIDTH))
    trainer = gluon.Trainer(net.collect_params(), rule, {"learning_rate": 1e-6})
    compiled: dict[Any, Any] = {}  # what runs -> the program that it comes from
    programs: list[Any] = []
    bare, executable = ahead.bare_call, segment.executable

    def watched_bare(program: Any) -> Any:
        step = bare(program)
        compiled[step] = program
        return step

    def watched(*args: Any) -> Any:
        actual = executable(*args)
        if actual.call in compiled:
            programs.append(compiled[actual.call].memory_analysis())
        return actual

    ahead.bare_call = watched_bare
    for i in range(3):
        if i == 2:
            segment.executable = watched  # type: ignore[assignment]
        with autograd.record():
            loss = (net(x) ** 2).sum()
        loss.backward()
        trainer.step(1)
        nd.waitall()
    live = sum(array.nbytes for array in jax.live_arrays())
    parameters = LAYERS * WIDTH * WIDTH * 4
    needed = parameters * (2 + STATES[rule])  # parameters, gradients, states
    assert programs
    for each in programs:
        new = each.output_size_in_bytes - each.alias_size_in_bytes
        peak = each.argument_size_in_bytes + new + each.temp_size_in_bytes
        print(
            f"{rule}: {parameters / 4e6:.0f} M parameters ({parameters / 1e9:.2f} GB); with "
            f"gradients and states {needed / 1e9:.2f} GB; alive after a step {live / 1e9:.2f} GB; "
            f"at the step's peak {peak / 1e9:.2f} GB, of it temporaries "
            f"{each.temp_size_in_bytes / 1e9:.2f} GB; written where it stood "
            f"{each.alias_size_in_bytes / 1e9:.2f} GB"
        )


def main() -> None:
    """Both rules."""
    for rule in STATES:
        subprocess.run([sys.executable, "-m", "tests.benchmarks.donation", rule], check=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(sys.argv[1])
    else:
        main()
