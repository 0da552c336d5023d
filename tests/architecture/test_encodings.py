"""Text files are UTF-8: none is opened in the encoding of the user's locale."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.syntax import nodes
from tests.conftest import TESTS

FOLDERS = ("docs", "mixnet", "notebooks", "widgets")
MODES = {
    "open": 1,
    "io.open": 1,
    "open_file": 1,
    "os.fdopen": 1,
    "tempfile.NamedTemporaryFile": 0,
    "tempfile.TemporaryFile": 0,
}
"""Functions that open a file -> the position of the mode."""


def without_encoding(source: str) -> Iterator[str]:
    """Calls that read or write text without saying in which encoding."""
    for call in nodes(source):
        if not isinstance(call, ast.Call) or {each.arg for each in call.keywords} & {
            "encoding",
            None,
        }:
            continue
        function = ast.unparse(call.func)
        opens = function in MODES and not _is_of_bytes(call, function)
        reads = function.endswith(".read_text") and not call.args
        writes = function.endswith(".write_text") and len(call.args) < 2
        if opens or reads or writes:
            yield f"line {call.lineno}: {ast.unparse(call)[:100]}"


def _is_of_bytes(call: ast.Call, function: str) -> bool:
    place = MODES[function]
    modes = [each.value for each in call.keywords if each.arg == "mode"] or call.args[place:]
    if not modes:
        return function.startswith("tempfile.")
    parts = [each.value for each in ast.walk(modes[0]) if isinstance(each, ast.Constant)]
    return any("b" in str(part) for part in parts)


def test_text_files_have_an_encoding() -> None:
    calls_by_file = {}
    for folder in FOLDERS:
        for path in sorted((TESTS.parent / folder).rglob("*.py")):
            calls = list(without_encoding(path.read_text("utf-8")))
            if calls and "node_modules" not in path.parts:
                calls_by_file[path.relative_to(TESTS.parent).as_posix()] = calls
    assert not calls_by_file, 'pass encoding="utf-8"'


@pytest.mark.parametrize(
    ("code", "count"),
    [("open('a')", 1), ("open('a', 'rb')", 0), ("open('a', mode='wb')", 0), ("open('a', flag)", 1),
     ("open('a', encoding='utf-8')", 0), ("os.fdopen(3, 'w')", 1), ("os.open('a', 0)", 0),
     ("record.open()", 0), ("path.read_text()", 1), ("path.read_text('utf-8')", 0),
     ("path.write_text(text)", 1), ("tempfile.NamedTemporaryFile()", 0),
     ("tempfile.NamedTemporaryFile('w')", 1), ("open_file(path, **more)", 0)],
)  # fmt: skip
def test_calls_without_an_encoding_are_detected(code: str, count: int) -> None:
    assert len(list(without_encoding(code))) == count
