"""Names say what a value is, not where it came from: ``gradients``, not ``found`` or ``given``."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import mixnet as mx
from tests.architecture.scripts import identifiers
from tests.architecture.syntax import nodes
from tests.conftest import TESTS

PACKAGE = Path(mx.__file__).parent
VAGUE = frozenset(
    [
        "apart",
        "asked",
        "come",
        "found",
        "given",
        "gone",
        "had",
        "held",
        "how",
        "kept",
        "laid",
        "made",
        "said",
        "seen",
        "taken",
        "thing",
        "told",
        "wanted",
        "what",
        "who",
    ]
)

POINTING = VAGUE | {"here", "there", "those", "whose"}
"""Words that point at a value, which only the author sees; checked in Python's files."""

ALLOWED = {
    ("base.py", "here"): "the globals() of the module that calls",
    ("ops/schema/ranges.py", "whose"): "whose axis is out of range, in a message",
    ("process/locks.py", "held"): "the locks that a thread holds",
    (
        "symbol/executor.py",
        "there",
    ): "the elements of an array that exists, beside those of its new shape",
    ("widgets/board/data.py", "held"): "whether the board holds the training back",
    ("widgets/why/ask.py", "thing"): "a parameter of mx.why, which takes anything that has answers",
    ("widgets/why/kept.py", "kept"): "the question that a view answers",
}


def bound_names(text: str) -> Iterator[str]:
    """Every name that a text gives to a variable, parameter, attribute, function or class."""
    for node in nodes(text):
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name


def vague(text: str, words: frozenset[str] = VAGUE) -> set[str]:
    """The names of a text that are nothing but a vague word, whatever their case and underscores."""
    return {name for name in bound_names(text) if name.strip("_") in words}


def test_names_say_what_a_value_is() -> None:
    names = {
        (path.relative_to(PACKAGE).as_posix(), name)
        for path in PACKAGE.rglob("*.py")
        for name in vague(path.read_text(encoding="utf-8"), POINTING)
    }
    assert names == set(ALLOWED), (
        f"{sorted(names ^ set(ALLOWED))}: name what the value is (gradients, requested_outputs, visited); "
        f"take off ALLOWED what is gone."
    )


def test_names_in_tests_say_what_a_value_is() -> None:
    names = {
        (path.relative_to(TESTS).as_posix(), name)
        for path in TESTS.rglob("*.py")
        if path.parent != TESTS / "benchmarks" / "programs"  # original MXNet programs
        for name in vague(path.read_text(encoding="utf-8"), POINTING)
    }
    assert not names, (
        f"{sorted(names)}: call them expected, actual, result, options, messages, inputs"
    )


def test_names_in_scripts_say_what_a_value_is() -> None:
    folder = PACKAGE.parent / "widgets" / "src"
    names = {
        (path.relative_to(folder).as_posix(), name)
        for path in folder.rglob("*.js")
        for name in identifiers(path.read_text(encoding="utf-8"))
        if name.strip("_") in VAGUE
    }
    assert not names, f"{sorted(names)}: name what the value is (visited, occupied, entries)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("const found = 1, here = found.length;", ["const", "found", "here", "found"]),
        ("each.found({ kept: told })", ["each", "told"]),
        ("const { gone: removed, who } = rows;", ["const", "removed", "who", "rows"]),
        ("f(...seen) // what", ["f", "seen"]),
        ("x = `found ${kept} ${`made ${y}`}` + 'said'", ["x", "kept", "y"]),
        ("test = (a, /found[/]it/g, 'b');", ["test", "a"]),
        ("a / found / b", ["a", "found", "b"]),
    ],
)
def test_identifiers_of_a_script(text: str, expected: list[str]) -> None:
    assert list(identifiers(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gradients = 1", set()),
        ("found = 1", {"found"}),
        ("self._kept = 1", {"_kept"}),
        ("def f(given, *, wanted_shape): ...", {"given"}),
        ("async def _asked(): ...", {"_asked"}),
        ("[taken for taken in x]", {"taken"}),
        ("print(given)", set()),
        ("here = there", set()),
    ],
)
def test_vague_names_are_detected(text: str, expected: set[str]) -> None:
    assert vague(text) == expected


def test_words_that_point_are_vague_in_files() -> None:
    assert vague("here = there; own = 1; self._whose = 2", POINTING) == {"here", "_whose"}


def test_names_in_notebooks_say_what_a_value_is() -> None:
    # seen: the pixels of a picture that are seen; kept: which those are.
    allowed = {("23_generative", "kept"), ("23_generative", "seen")}
    names = {
        (path.stem, name)
        for path in (PACKAGE.parent / "notebooks").glob("*.ipynb")
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        if cell["cell_type"] == "code"
        for name in vague(re.sub(r"^[%!].*$", "", "".join(cell["source"]), flags=re.MULTILINE))
    }
    assert names == allowed, f"{sorted(names ^ allowed)}: name what the value is"
