"""The walks name functions that are called, in the files they link to, and count calls as they are."""

from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path

import pytest

import mixnet as mx
from tests import processes

ROOT = Path(mx.__file__).parents[1]
PAGE = ROOT / "docs" / "concepts" / "walks.md"
WALKS = PAGE.read_text().split("\n## ")[1:]
NAME = r"`(_?[A-Za-z]\w*(?:\._*\w+)?)`"
# The program that is followed, a layer, a function of JAX.
ELSEWHERE = {"x", "x.grad", "BatchNorm", "jax.vjp"}

NOT_CALLED = {
    "lower",  # in another thread, once a program is compiled
    "Tape.gradients", "move_all", "GraphOp.backward_node", "_allreduce_grads",  # in other programs
    "TraceKey",  # a named tuple, which is made without a call of its name
}  # fmt: skip
"""What the walks mention although their first runs do not call it."""


def files_of(walk: str) -> list[Path]:
    return [(PAGE.parent / link).resolve() for link in re.findall(r"\]\(([^)#]+\.py)\)", walk)]


def defined(path: Path) -> set[str]:
    """Functions, classes and methods of a file, methods also as ``Class.method``."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ClassDef):
            inside = [n.name for n in node.body if isinstance(n, ast.FunctionDef)]
            names |= {node.name, *(f"{node.name}.{name}" for name in inside)}
        elif isinstance(node, ast.FunctionDef):
            names.add(node.name)
    return names


@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: walk.split("\n")[0][:20])
def test_files_of_a_walk_exist(walk: str) -> None:
    missing = [path for path in files_of(walk) if not path.is_file()]
    assert missing == []


def test_names_of_the_walks_are_defined_in_the_files_that_they_link_to() -> None:
    known = set().union(*(defined(path) for walk in WALKS for path in files_of(walk)))
    named = {name for walk in WALKS for name in re.findall(NAME, walk)}
    assert sorted(named - known - ELSEWHERE) == []


def run_walks(*options: str) -> str:
    script = [sys.executable, "-m", "tests.docs.count_walks", *options]
    return processes.run(
        script, cwd=ROOT, capture_output=True, text=True, check=True, timeout=240
    ).stdout


def test_the_walks_call_what_they_name() -> None:
    called = {name.split(".<")[0] for names in json.loads(run_walks("--names")) for name in names}
    called |= {part for name in called for part in name.split(".")}
    named = {name for walk in WALKS for name in re.findall(NAME, walk)}
    assert sorted(named - called - ELSEWHERE - NOT_CALLED) == []


def test_the_walks_count_calls_as_they_are() -> None:
    output = run_walks()
    counted = [int(line.split()[1].replace(",", "")) for line in output.splitlines()]
    written = [
        int(re.search(r"([\d,]+) calls", walk)[1].replace(",", ""))  # type: ignore[index]
        for walk in WALKS
    ]
    # Versions of Python and JAX differ by a few calls.
    assert written == [pytest.approx(count, rel=0.1) for count in counted], counted
