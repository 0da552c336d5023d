"""Views save their picture; the graph saves its present state."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.ui.conftest import Watched
from tests.widgets.examples import EXAMPLES


def saved(page: Any, kind: str) -> tuple[str, bytes]:
    with page.expect_download() as started:
        page.get_by_label(f"save the picture as {kind}").click()
    return started.value.suggested_filename, Path(started.value.path()).read_bytes()


@pytest.mark.parametrize("name", ["graph", "memory"])
def test_pictures_are_saved_as_svg_and_as_pixels(
    watched: Watched, tmp_path: Path, name: str
) -> None:
    page, view = watched.page, EXAMPLES[name]()
    view.to_html(tmp_path / "a.html")
    page.goto((tmp_path / "a.html").as_uri())
    page.locator(".mx-static[data-ready]").wait_for()
    sizes = []
    for opened in (False, True):
        if opened and name == "graph":
            page.get_by_label("open all blocks").click()
        file, text = saved(page, "SVG")
        root = ElementTree.fromstring(text)
        width, height = float(root.get("width")), float(root.get("height"))
        pixels_file, pixels = saved(page, "PNG")
        assert file.endswith(".svg") and pixels_file == file.replace(".svg", ".png")
        got = struct.unpack(">II", pixels[16:24])
        assert got == pytest.approx((2 * width, 2 * height), abs=2)
        sizes.append((width, height))
    assert (sizes[0] != sizes[1]) == (name == "graph")
    assert watched.errors == []
