"""No lock is taken through its ``threading.Condition``, whose methods are Python code: see ``locks``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.syntax import nodes
from tests.architecture.test_architecture import MODULES, PACKAGE


def taken_through_conditions(source: str) -> Iterator[str]:
    """Blocks that take the lock of a condition which this file has made."""
    conditions = set()
    for node in nodes(source):
        if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith(
            "threading.Condition("
        ):
            conditions.update(ast.unparse(target).rpartition(".")[2] for target in node.targets)
    for node in nodes(source):
        if isinstance(node, ast.With):
            for item in node.items:
                text = ast.unparse(item.context_expr)
                if text.rpartition(".")[2] in conditions:
                    yield f"line {node.lineno}: with {text}"


def test_locks_are_not_taken_through_conditions() -> None:
    blocks_by_file = {}
    for path in MODULES:
        blocks = list(taken_through_conditions(path.read_text("utf-8")))
        if blocks:
            blocks_by_file[path.relative_to(PACKAGE).as_posix()] = blocks
    assert not blocks_by_file, "keep the lock beside its condition, and take the lock"


@pytest.mark.parametrize(
    ("block", "count"), [("with self.changed: pass", 1), ("with self.lock: pass", 0)]
)
def test_blocks_with_conditions_are_detected(block: str, count: int) -> None:
    source = f"self.changed = threading.Condition(self.lock)\n{block}"
    assert len(list(taken_through_conditions(source))) == count
