"""Every mistake raises the error of its row, at its line, in the user's terms."""

from __future__ import annotations

import re
import tempfile
import traceback
from pathlib import Path

import jax
import numpy as np
import pytest

import mixnet as mx
from tests.each_record import each_record
from tests.mistakes import (
    algebra,
    array_arguments,
    arrays,
    blocks,
    data,
    handed_over,
    less_common,
    modules,
    operators,
    recurrent,
    symbols,
    training,
)
from tests.mistakes.mistake import PRELUDE, Mistake

MODULES = (
    arrays,
    array_arguments,
    algebra,
    operators,
    blocks,
    recurrent,
    training,
    symbols,
    modules,
    data,
    handed_over,
    less_common,
)
MISTAKES = [row for module in MODULES for row in module.MISTAKES]
TOPICS = {
    row.code: module.__name__.rpartition(".")[2] for module in MODULES for row in module.MISTAKES
}

# What says how mixnet is made rather than what the caller did.
INTERNAL = re.compile(
    r"\bjax\b|jaxpr|MLIR|\bXLA\b|\blax\.|Tracer|tuple index out of range|list index out of range|"
    r"inhomogeneous|could not be broadcast|out of bounds for array of dimension|NoneType|"
    r"invalid literal|object has no attribute '_|incompatible shapes for broadcasting|mixnet\.base|"
    r"^_(npi|np|npx|contrib|image|linalg|random|sample)_",
    re.IGNORECASE,
)
FOREIGN = tuple(str(Path(module.__file__ or "").parent) for module in (jax, np))
MOST_FRAMES = 15


def _raised(code: str) -> BaseException:
    namespace: dict[str, object] = {}
    exec(compile(PRELUDE, "<prelude>", "exec"), namespace)
    program = compile(code, "<mistake>", "exec")
    try:
        exec(program, namespace)
    except Exception as error:
        return error
    pytest.fail("it was taken silently")


@pytest.mark.filterwarnings("ignore")
@each_record("row", MISTAKES, ids=lambda row: row.code, by=lambda row: TOPICS[row.code])
def test_a_mistake_raises_its_error(
    row: Mistake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tempfile.mkdtemp(dir=tmp_path))
    error = _raised(row.code)
    text = str(error)
    assert isinstance(error, row.classes[0]), f"{type(error).__name__}: {text}"
    for each in row.classes:
        assert isinstance(error, each), type(error).__mro__
    for piece in (row.quoted, *row.pieces):
        assert piece in text

    # What holds of all texts.
    assert not any("JAX" in note for note in getattr(error, "__notes__", []))
    ours = (mx.MXNetError, TypeError, UserWarning)  # MXNet raises bare warnings for some misuse
    assert isinstance(error, ours), "neither ours nor Python's on a call"
    actual = INTERNAL.search(text)
    assert not actual or row.quoted == "gpu", actual
    assert len(text) < 700
    assert error.__suppress_context__ or error.__context__ is None, "two errors are shown"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == "<mistake>"]
    assert lines[0] == row.code.count("\n") + 1, "another line is blamed"
    assert not frames[-1].filename.startswith(FOREIGN)
    assert len(frames) <= MOST_FRAMES


def test_mistakes_are_many_and_distinct() -> None:
    assert len({each.code for each in MISTAKES}) == len(MISTAKES) >= 150
