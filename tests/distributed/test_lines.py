"""Output of C++ libraries is discarded for a while, also where a program has no output."""

from __future__ import annotations

import os
import sys

import pytest

from mixnet.distributed.lines import flush_output, quiet


def test_what_is_printed_to_a_file_descriptor_is_discarded(
    capfd: pytest.CaptureFixture[str],
) -> None:
    os.write(1, b"before\n")
    with quiet(1):
        os.write(1, b"meanwhile\n")
    os.write(1, b"after\n")
    assert capfd.readouterr().out == "before\nafter\n"


def test_a_file_that_has_the_number_of_a_closed_output_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A program that is started without an output may get a connection of this number."""
    for name in ("stdout", "__stdout__"):
        monkeypatch.setattr(sys, name, None)
    with quiet(1):
        os.write(1, b"a message\n")
    flush_output()
    assert capfd.readouterr().out == "a message\n"


def test_a_broken_pipe_is_no_reason_not_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    with os.fdopen(writer, "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        stream.write("x")
        os.close(reader)
        flush_output()
        monkeypatch.undo()
        with pytest.raises(BrokenPipeError):
            stream.close()
