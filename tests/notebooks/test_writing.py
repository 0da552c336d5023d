"""Numbers in stored outputs and in the docs are written by the rules of ``mixnet.units``."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import pytest

from mixnet.widgets import page
from tests.each_record import each_record

nbformat = pytest.importorskip("nbformat", reason="pip install '.[lab]' to read notebooks")
ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# A percent sign is next to its number; "7 % 3" in code is a remainder.
SPACED = re.compile(r"\d %(?! ?[\d({%])")
THINGS = (
    "operation box array node device thread step program piece row line task event machine "
    "place letter"
)
# "1 pieces", but not "0.1 steps"
ONE_OF_MANY = re.compile(rf"(?<![\d.,v-])\b1 (?:{'|'.join(THINGS.split())})e?s\b")


def texts_of(output: Any) -> list[str]:
    """All that an output says: text, pictures of views, and the data of views."""
    parts = [output.get("text", "")]
    for kind, text in output.get("data", {}).items():
        if kind.startswith("text/"):
            svgs = re.findall(r"svg\+xml;base64,([\w+/=]+)", text)
            parts += [base64.b64decode(each).decode() for each in svgs]
            packed = re.findall(r'application/x-mixnet">([^<]+)<', text)
            parts += [str(page.unpack(each)) for each in packed]
            parts.append(re.sub(r"base64,[\w+/=]+|x-mixnet\">[^<]+", "", text))
    return parts


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_write_shares_without_a_space(path: Path) -> None:
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            assert not SPACED.search(cell.source), cell.source
        for text in (each for output in cell.get("outputs", []) for each in texts_of(output)):
            assert not SPACED.search(text), SPACED.search(text)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_write_one_thing_in_the_singular(path: Path) -> None:
    for cell in nbformat.read(path, as_version=4).cells:
        for text in (each for output in cell.get("outputs", []) for each in texts_of(output)):
            assert not ONE_OF_MANY.search(text), ONE_OF_MANY.search(text)


@each_record("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_docs_write_shares_without_a_space(path: Path) -> None:
    assert not SPACED.search(path.read_text(encoding="utf-8"))
