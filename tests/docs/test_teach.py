"""The teacher's guide covers every notebook and every exercise; the gallery and the page of
widgets show every view.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import mixnet as mx
from tests.each_record import each_record

nbformat = pytest.importorskip("nbformat", reason="pip install '.[lab]' to read notebooks")
ROOT = Path(mx.__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
GUIDE = (ROOT / "docs" / "teach.md").read_text(encoding="utf-8")
GALLERY = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
VIEWS = sorted(
    name
    for name, each in vars(mx.widgets).items()
    if isinstance(each, type) and issubclass(each, mx.widgets.View) and each is not mx.widgets.View
)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_guide_covers_a_notebook(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "notebooks"))
    titles = importlib.import_module("grade").titles(nbformat.read(path, 4))
    plan, _, lessons = GUIDE.partition("## Each notebook")
    assert f"(../notebooks/{path.name})" in plan, "no week for it"
    assert f"(../notebooks/{path.name})" in lessons, "no goals for it"
    assert f"*Exercises:* {'; '.join(titles.values())}\n" in lessons


def test_the_plan_has_twelve_weeks() -> None:
    assert re.findall(r"^\| (\d+) \|", GUIDE, re.MULTILINE) == [str(i) for i in range(1, 13)]


@each_record("view", VIEWS)
def test_the_gallery_and_the_list_show_a_view(view: str) -> None:
    assert f"## {view}: " in GALLERY
    assert f"mx.widgets.{view}" in GALLERY
    assert f"| `{view}` |" in (ROOT / "docs" / "concepts" / "widgets.md").read_text(
        encoding="utf-8"
    )


def test_pictures_of_the_gallery_are_those_that_its_script_draws() -> None:
    import views

    shown = re.findall(r"!\[[^\]]+\]\(pictures/views/(\w+)\.svg\)", GALLERY)
    assert shown == [make.__name__ for make in views.VIEWS]
    for name in shown:
        text = (ROOT / "docs" / "pictures" / "views" / f"{name}.svg").read_text(encoding="utf-8")
        assert text.startswith("<svg") and len(text) < 60_000
        assert not re.search(r"/(tmp|home|root|work)/", text)


def test_lessons_and_pages_that_the_gallery_names_use_the_view() -> None:
    from live_views import asked_in

    for section in re.split(r"^## ", GALLERY, flags=re.MULTILINE)[1:]:
        call = re.match(r"[\w.]+", section)
        assert call is not None
        lessons = re.findall(r"\(\.\./notebooks/(\w+\.ipynb)\)", section)
        shown = set(re.findall(r"pictures/views/(\w+)\.svg", section))
        pages = re.findall(r"\(concepts/([\w-]+\.md)\)", section.partition("Live in")[2])
        assert lessons or pages, call[0]
        for page in pages:
            text = (ROOT / "docs" / "concepts" / page).read_text(encoding="utf-8")
            assert any(each.startswith(tuple(shown)) for each in asked_in(text)), (
                f"{page} has no such view"
            )
        # What a notebook shows for an array needs no call.
        calls = {"ArrayView": "nd.", "Look": "mx.look("}.get(call[0], call[0])
        for lesson in lessons:
            assert calls in (ROOT / "notebooks" / lesson).read_text(encoding="utf-8"), lesson
