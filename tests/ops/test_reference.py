"""The operator reference in ``docs/reference/operators`` is what the registry gives now."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parent.parent.parent / "docs" / "reference"


def _builder() -> Any:
    spec = importlib.util.spec_from_file_location("build_operators", DOCS / "build_operators.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pages_are_built_from_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    made = _builder().pages()
    written = {path.name: path.read_text() for path in (DOCS / "operators").glob("*.md")}
    assert set(written) == set(made)
    stale = [name for name, text in made.items() if written[name] != text]
    assert stale == [], "run: python docs/reference/build_operators.py"


def test_every_operator_says_what_it_does() -> None:
    from mixnet.ops import OPERATORS

    silent = {op.name for op in OPERATORS.values() if not (op.__doc__ or "").strip()}
    assert silent == set()
