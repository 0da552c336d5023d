"""The operator reference in ``docs/reference/operators`` matches the registry."""

from __future__ import annotations

import importlib.util
import re
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

import mixnet as mx

DOCS = Path(__file__).parent.parent.parent / "docs" / "reference"


def _builder() -> Any:
    spec = importlib.util.spec_from_file_location("build_operators", DOCS / "build_operators.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pages_are_built_from_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    pages = _builder().pages()
    written = {path.name: path.read_text() for path in (DOCS / "operators").glob("*.md")}
    assert set(written) == set(pages)
    stale = [name for name, text in pages.items() if written[name] != text]
    assert stale == [], "run: python docs/reference/build_operators.py"


def test_a_to_z_has_every_name_that_users_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    pages = _builder().pages()
    rows = re.findall(
        r"^\| \[`(\w+)`\]\(([\w-]+\.md)#([\w-]+)\) \| (.+?) \| (.+) \|$", pages["a-to-z.md"], re.M
    )
    named = {
        f"{space}.{name}"
        for name, _, _, spaces, _ in rows
        for space in re.findall(r"`([\w.]+)`", spaces)
    }
    missing = [place for place in sorted(named) if not callable(attrgetter(place[3:])(mx))]
    assert missing == []
    assert {"mx.nd.Convolution", "mx.sym.Convolution", "mx.npx.convolution", "mx.np.add"} <= named
    assert "mx.nd.contrib.box_nms" in named
    names = [name.lower() for name, *_ in rows]
    assert names == sorted(names) and len(rows) > 500
    for name, page, anchor, _, summary in rows:
        headings = [line[3:].lower() for line in pages[page].splitlines() if line.startswith("## ")]
        assert re.sub(r"-\d+$", "", anchor) in headings, name
        assert summary.strip(), name


def test_headings_that_differ_in_case_have_distinct_anchors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    operators = [type("Named", (), {"name": name}) for name in ("Crop", "crop", "crop_like")]
    assert list(_builder().anchors(operators).values()) == ["crop", "crop-1", "crop_like"]


def test_every_operator_says_what_it_does() -> None:
    from mixnet.ops import OPERATORS

    silent = {op.name for op in OPERATORS.values() if not (op.__doc__ or "").strip()}
    assert silent == set()
