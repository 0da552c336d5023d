"""Importing mixnet draws nothing from NumPy's global generator."""

from __future__ import annotations

import subprocess
import sys

import numpy

from mixnet.process.numpy_random import numpy_generator_preserved

PROGRAM = """
import numpy
numpy.random.seed(7)
import mixnet
print(numpy.random.rand())
"""


def test_numbers_of_a_program_that_seeds_before_the_import() -> None:
    # Its own process, since the import is tested.
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300, check=True
    )
    assert float(run.stdout) == numpy.random.RandomState(7).rand()


def test_draws_inside_are_not_seen_outside() -> None:
    state = numpy.random.get_state()
    try:
        numpy.random.seed(3)
        with numpy_generator_preserved():
            numpy.random.rand(5)
        assert numpy.random.rand() == numpy.random.RandomState(3).rand()
    finally:
        numpy.random.set_state(state)
