"""Names that programs read are public to type checkers, which read the sources of an installed package.

They take an import by another name (``from mixnet import symbol as sym``) for a private one, unless the
module lists it in ``__all__``, or assigns it.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "mixnet"
# Others have renamed imports because MXNet's modules have them, which programs do not read.
READ = (
    *("", "contrib", "gluon", "gluon/data", "gluon/nn", "gluon/rnn", "image", "io", "metric"),
    *("ndarray", "numpy", "numpy_extension", "optimizer", "symbol"),
)
FROM_MXNET = {"nd", "sym", "np", "opt", "kvs", "init"}


def _private(text: str, besides: frozenset[str] = frozenset()) -> list[str]:
    """Public names of a module that type checkers take for private ones."""
    tree = ast.parse(text)
    listed, renamed = set(besides), []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names = [each.asname for each in node.names if each.asname not in (None, each.name)]
            renamed += [str(each) for each in names if not str(each).startswith("_")]
        elif isinstance(node, ast.Assign):
            targets = [each.id for each in node.targets if isinstance(each, ast.Name)]
            if targets == ["__all__"] and isinstance(node.value, ast.List):
                elements = [each for each in node.value.elts if isinstance(each, ast.Constant)]
                listed |= {str(each.value) for each in elements}
    return [each for each in renamed if each not in listed]


@pytest.mark.parametrize("folder", READ)
def test_names_that_programs_read_are_public(folder: str) -> None:
    path = PACKAGE / folder / "__init__.py"
    besides = frozenset(FROM_MXNET if folder not in ("", "contrib", "symbol") else ())
    assert _private(path.read_text(encoding="utf-8"), besides) == []


def test_renamed_imports_are_detected() -> None:
    text = (
        "from a import b as c\nfrom a import d as d\nfrom a import e as _e\nfrom a import f as g\n"
    )
    assert _private(text) == ["c", "g"]
    assert _private(text + '__all__ = ["c"]\n') == ["g"]
