"""Calls with unusual arguments: what MXNet 1.9.1 gave, values or the class of the exception."""

from __future__ import annotations

import json
from typing import Any

import numpy as onp
import pytest

import mixnet as mx
from tests.parity.record_calls import FIXTURE, RAISES, answer_of

STORED = json.loads(FIXTURE.read_text())
GROUPS = 16


def agree(ours: Any, theirs: Any) -> bool:
    """Whether two answers are the same but for rounding; of exceptions, MXNet's class is among ours."""
    if not isinstance(theirs, list) or not isinstance(ours, list):
        return ours == theirs
    if RAISES in (ours[:1] + theirs[:1]):
        names = theirs[1].split() if theirs[0] == RAISES else []
        return ours[0] == theirs[0] and (not names or names[0] in ours[1].split())
    if len(theirs) == 4 and isinstance(theirs[1], str):
        close = (
            {"rtol": 1e-2, "atol": 2e-3} if theirs[1] == "float16" else {"rtol": 2e-3, "atol": 1e-5}
        )
        return ours[:3] == theirs[:3] and onp.allclose(ours[3], theirs[3], equal_nan=True, **close)
    return len(ours) == len(theirs) and all(map(agree, ours, theirs))


@pytest.mark.parametrize("group", range(GROUPS))
def test_calls_have_the_results_of_mxnet(group: int) -> None:
    wrong = []
    for row in STORED["rows"][group::GROUPS]:
        ours = json.loads(
            json.dumps(answer_of(mx, row, STORED["before"].get(row.get("before"), [])))
        )
        if not agree(ours, row["says"]):
            wrong.append(f"{row['mode']} {row['text']}: {ours} in place of {row['says']}")
    assert not wrong, "\n".join(wrong)
