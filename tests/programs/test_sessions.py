"""Consecutive cells print what MXNet 1.9.1 printed."""

from __future__ import annotations

import json
import re

import pytest

from tests.benchmarks.whole_programs import differences
from tests.parity.record_sessions import FIXTURE, RAISES, printed

SESSIONS = json.loads(FIXTURE.read_text())


def plain(text: str) -> str:
    """Text without the package's name, and scalars as NumPy 1 prints them."""
    text = text.replace("mixnet", "mxnet").replace("np.True_", "True").replace("np.False_", "False")
    return re.sub(r"np\.(?:float|u?int)\d+\(([^()]*)\)", r"\1", text)


def agree(ours: str, theirs: str) -> bool:
    """Whether two cells printed the same; of an exception, MXNet's class is among ours."""
    before_ours, raised_ours, classes_ours = ours.rpartition(RAISES)
    before, raised, classes = theirs.rpartition(RAISES)
    if raised and raised_ours:
        return classes.split()[0] in [*classes_ours.split(), "Exception"] and agree(
            before_ours, before
        )
    return not differences(plain(ours), plain(theirs))


@pytest.mark.parametrize("name", SESSIONS)
def test_cells_print_what_mxnet_printed(name: str, as_a_program: None) -> None:
    cells = SESSIONS[name]
    actual = printed([code for code, _ in cells])
    wrong = [
        f"{code}\n--- MXNet\n{theirs}\n--- mixnet\n{ours}"
        for (code, theirs), ours in zip(cells, actual, strict=True)
        if theirs is not None and not agree(ours, theirs)
    ]
    assert not wrong, "\n\n".join(wrong)


def test_exceptions_agree_by_class() -> None:
    assert agree("1.0\nraises MXNetError ValueError\n", "1.0\nraises ValueError\n")
    assert not agree("2.0\nraises ValueError\n", "1.0\nraises ValueError\n")
    assert not agree("raises KeyError\n", "raises ValueError\n")
    assert not agree("1.0\n", "raises ValueError\n")
