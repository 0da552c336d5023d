"""How often a program is interpreted before it is compiled."""

from __future__ import annotations

import pytest

from mixnet.runtime.interpret import patience
from mixnet.runtime.interpret.on_numpy.work import Cost


@pytest.mark.parametrize(
    ("cost", "runs"),
    [
        (Cost(work=0.01, saving=0.005, compiling=0.5), 100),
        (Cost(work=0.5, saving=0.4, compiling=0.1), 1),  # not long enough to wait for the compiler
        (Cost(work=4.0, saving=3.0, compiling=2.9), 0),
        (Cost(work=4.0, saving=1.4, compiling=2.9), 2),  # more work than compiling, yet no gain
        (Cost(work=0.0, saving=0.0, compiling=0.1), 10_000),
    ],
)
def test_a_program_is_compiled_when_that_pays(cost: Cost, runs: int) -> None:
    assert patience.interpreted_runs(cost) == pytest.approx(runs, abs=1 if runs > 100 else 0)
