"""No module imports one that imports it, directly or through others: each can be read alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import mixnet as mx
from tests.architecture.syntax import nodes

PACKAGE = Path(mx.__file__).parent


def is_for_type_checker(condition: ast.expr) -> bool:
    names = (getattr(part, "id", getattr(part, "attr", "")) for part in ast.walk(condition))
    return "TYPE_CHECKING" in names


def imported_names(tree: ast.AST) -> Iterator[str]:
    """What a text imports, in functions too; for the type checker alone does not count."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.expr):
            continue
        if isinstance(node, ast.If) and is_for_type_checker(node.test):
            for each in node.orelse:
                yield from imported_names(ast.Module([each], []))
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{each.name}" for each in node.names)
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        if isinstance(node, (ast.stmt, ast.excepthandler, ast.match_case)):
            yield from imported_names(node)


def imports(texts: Mapping[str, str]) -> dict[str, set[str]]:
    """For each module those of the same texts that it imports."""
    result = {}
    for name, text in texts.items():
        modules = set()
        for each in imported_names(nodes(text)[0]):
            # A name of a package is one of its modules, or something in its own file.
            module = each if each in texts else each.rpartition(".")[0]
            if module in texts:
                modules.add(module)
        result[name] = modules - {name}
    return result


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """The modules of one circle, in order; none if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        modules: list[str] = error.args[1]
        return modules
    return []


def test_modules_do_not_import_each_other() -> None:
    texts = {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(
            ".__init__"
        ): path.read_text(encoding="utf-8")
        for path in PACKAGE.rglob("*.py")
    }
    graph = imports(texts)
    assert sum(map(len, graph.values())) > len(graph)
    assert not circle(graph), (
        f"{' -> '.join(circle(graph))}: move what both need to a module of its own, or let the one below "
        f"be given what it calls"
    )


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ({"a": "import b", "b": "def f():\n    import a"}, {"a", "b"}),
        ({"a": "from b import c", "b": "", "b.c": "from a import x"}, {"a", "b.c"}),
        ({"a": "from b import c", "b": "c = 1", "c": "import a"}, set()),
        (
            {
                "a": "import b",
                "b": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import a",
            },
            set(),
        ),
    ],
)
def test_an_import_circle_is_detected(texts: dict[str, str], expected: set[str]) -> None:
    assert set(circle(imports(texts))) == expected
