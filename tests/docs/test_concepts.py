"""Every folder of the package has a page with a picture, and the pictures match the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import mixnet as mx
from tests.each_record import each_record

PACKAGE = Path(mx.__file__).parent
CONCEPTS = PACKAGE.parent / "docs" / "concepts"
FOLDERS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))


def page_of(folder: str) -> Path | None:
    """The page that the list of pages names for a folder."""
    row = re.search(
        rf"^\| `{folder}` \| \[[^\]]+\]\(([\w-]+\.md)\)",
        (CONCEPTS / "index.md").read_text(),
        re.MULTILINE,
    )
    return None if row is None else CONCEPTS / row.group(1)


@each_record("folder", FOLDERS)
def test_a_folder_has_a_page_with_a_picture(folder: str) -> None:
    page = page_of(folder)
    assert page is not None, f"docs/concepts/index.md has no row for mixnet/{folder}"
    text = page.read_text()
    pictures = re.findall(r"!\[[^\]]+\]\(\.\./pictures/([\w-]+\.svg)\)", text)
    assert f"{folder}.svg" in pictures, f"{page.name} shows no picture of mixnet/{folder}"
    assert "## Where to change what" in text
    assert f"```{{files}} {folder}\n```" in text


def test_every_page_has_a_live_view() -> None:
    from live_views import asked_in

    assert [page.name for page in CONCEPTS.glob("*.md") if not asked_in(page.read_text())] == []


def test_pictures_are_what_the_script_draws() -> None:
    import draw

    pictures = draw.pictures()
    stale = [
        name
        for name, text in pictures.items()
        if (CONCEPTS.parent / "pictures" / name).read_text() != text
    ]
    assert stale == [], "run: python docs/pictures/draw.py"


def test_a_missing_picture_is_reported() -> None:
    from boxes import Box, draw

    with pytest.raises(
        FileNotFoundError, match=r"mixnet/engine/gone\.py, in the picture of engine"
    ):
        draw("engine", "", [[Box("a", "A", file="gone.py")]], [])


def test_pages_name_files_that_exist() -> None:
    missing = []
    root = PACKAGE.parent
    pages = [root / "README.md", root / "CONTRIBUTING.md", *(root / "docs").glob("*.md")]
    for folder in ("concepts", "decisions", "howto"):
        pages += (root / "docs" / folder).glob("*.md")
    for page in pages:
        for name in re.findall(r"`((?:mixnet/)?(?:\w+/)+\w+\.py)`", page.read_text()):
            near = (PACKAGE / name, root / name, PACKAGE / "gluon" / name)
            if not any(path.exists() for path in near):
                missing.append(f"{page.name}: {name}")
    assert missing == []
