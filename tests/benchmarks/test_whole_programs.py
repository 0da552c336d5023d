"""Which start of a program is measured."""

from __future__ import annotations

import sys

import pytest

from tests.benchmarks import whole_programs
from tests.benchmarks.whole_programs import Outcome


@pytest.mark.parametrize(("options", "starts"), [([], 1), (["--second-start"], 2)])
def test_the_program_starts(
    options: list[str],
    starts: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folders: list[str] = []

    def run(launcher: str, library: str, name: str, compiled: str = "off") -> Outcome:
        folders.append(compiled)
        return Outcome("", "", 0, float(len(folders)), float(len(folders)))

    monkeypatch.setattr(whole_programs, "run", run)
    monkeypatch.delenv("MIXNET_ORACLE", raising=False)
    monkeypatch.setattr(sys, "argv", ["whole_programs", *options, "control_flow"])
    whole_programs.main()
    # A second start reads the folder of the first.
    assert len(folders) == starts and len(set(folders)) == 1
    assert (folders[0] == "off") == (not options)
    assert f"| control_flow | {starts:.2f} |" in capsys.readouterr().out
