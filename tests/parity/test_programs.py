"""Small programs of one expression: the value or exception class of MXNet 1.9.1."""

from __future__ import annotations

import json

import pytest

import mixnet as mx
from tests.parity.record_programs import FIXTURE, RAISES, answers

AREAS = json.loads(FIXTURE.read_text())
DIFFER = json.loads(FIXTURE.with_name("programs_differ.json").read_text())
"""Expressions on which mixnet differs: ``{reason: [expression, ...]}``."""
EXPECTED = {each for expressions in DIFFER.values() for each in expressions}


def agree(ours: str, theirs: str) -> bool:
    """Whether two answers are the same; of exceptions, MXNet's class is among ours."""
    if theirs.startswith(RAISES) and ours.startswith(RAISES):
        expected = theirs.removeprefix(RAISES).split()[0]
        return expected == "Exception" or expected in ours.split()
    return ours == theirs


@pytest.mark.parametrize("area", AREAS)
def test_programs_have_the_results_of_mxnet(area: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    known = AREAS[area]["asked"]
    ours = answers(mx, AREAS[area]["before"], list(known))
    wrong = [
        f"{each}: {ours[each]} in place of {theirs}"
        for each, theirs in known.items()
        if each not in EXPECTED and not agree(ours[each], theirs)
    ]
    assert not wrong, "\n".join(wrong)


def test_every_expected_difference_belongs_to_a_program() -> None:
    assert {each for area in AREAS.values() for each in area["asked"]} >= EXPECTED
