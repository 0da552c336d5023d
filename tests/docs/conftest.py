"""The modules beside the pages can be imported."""

from __future__ import annotations

from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(autouse=True)
def _docs_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in (DOCS, DOCS / "reference", DOCS / "pictures"):
        monkeypatch.syspath_prepend(str(folder))
