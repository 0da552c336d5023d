"""No test waits without a time limit for another process or thread."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.syntax import nodes
from tests.conftest import TESTS

PROGRAMS = ("benchmarks", "parity/record")  # a person starts these, and sees them


def owner(call: ast.Call) -> str:
    """The text before the last point of the function's name."""
    assert isinstance(call.func, ast.Attribute)
    return ast.unparse(call.func.value)


def without_limit(source: str) -> Iterator[str]:
    """Calls that wait until another process or thread has ended, however long that takes."""
    for call in nodes(source):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        name, options = call.func.attr, {each.arg for each in call.keywords}
        runs = name in ("run", "check_output") and owner(call) in ("subprocess", "processes")
        waits = name == "join" and not call.args and not options
        waits |= name == "communicate" and len(call.args) < 2
        waits |= name == "wait" and not call.args and "process" in owner(call)
        if (runs or waits) and not options & {"timeout", None}:
            yield f"line {call.lineno}: {ast.unparse(call)[:100]}"


def test_every_started_process_has_a_time_limit() -> None:
    actual = {}
    for path in sorted(TESTS.rglob("*.py")):
        name = path.relative_to(TESTS).as_posix()
        calls = [] if name.startswith(PROGRAMS) else list(without_limit(path.read_text("utf-8")))
        if calls:
            actual[name] = calls
    assert not actual, "pass timeout=, or use tests/waiting.py"


@pytest.mark.parametrize(
    ("code", "count"),
    [("subprocess.run(['a'])", 1), ("subprocess.run(['a'], timeout=9)", 0), ("processes.run(['a'])", 1),
     ("thread.join()", 1), ("thread.join(9)", 0), ("process.wait()", 1),
     ("process.communicate('a', timeout=9)", 0)],
)  # fmt: skip
def test_waits_without_a_limit_are_detected(code: str, count: int) -> None:
    assert len(list(without_limit(code))) == count
