"""How often a program is interpreted before it is compiled."""

from __future__ import annotations

import pytest

from mixnet.runtime.interpret import patience
from mixnet.runtime.interpret.on_numpy.work import Cost, away_from_device
from tests.each_record import each_record


@each_record(
    ("cost", "runs"),
    [
        (Cost(work=0.01, saving=0.005 + patience.LAUNCH_SECONDS, compiling=0.5), 100),
        (Cost(work=0.5, saving=0.4, compiling=0.1), 1),  # too short to wait for the compiler
        (Cost(work=4.0, saving=3.0, compiling=2.9), 0),
        (Cost(work=4.0, saving=1.4, compiling=2.9), 2),  # more work than compiling, yet no gain
        (Cost(work=2e-5, saving=1e-6 + patience.LAUNCH_SECONDS, compiling=0.1), 100_000),
        (
            Cost(work=1e-5, saving=patience.LAUNCH_SECONDS, compiling=0.1),
            patience.NEVER,
        ),  # it would start later
        (Cost(work=0.04, saving=0.04, compiling=4.0, is_away=True), 12),
        (Cost(work=0.09, saving=0.09, compiling=0.5, is_away=True), 1),
        (Cost(work=0.2, saving=0.2, compiling=9.0, is_away=True), 0),  # in parts, on the GPU
        (Cost(work=0.09, saving=0.09, compiling=0.05, is_away=True), 0),
    ],
)
def test_a_program_is_compiled_when_that_pays(cost: Cost, runs: int) -> None:
    assert patience.interpreted_runs(cost) == pytest.approx(runs, abs=1 if runs > 100 else 0)


def test_interpreting_a_program_of_a_gpu_costs_copies() -> None:
    near = Cost(work=0.001, saving=0.0005, compiling=0.1)
    away = away_from_device(near, arrays=10, nbytes=10_000_000)
    assert away.work == away.saving == pytest.approx(0.001 + 10 * 1e-5 + 0.001)
    assert away.compiling == near.compiling


def test_runs_while_a_program_is_compiled_take_twice_as_long() -> None:
    assert patience.runs_meanwhile(Cost(work=0.001, saving=0.0005, compiling=0.1)) == 200
