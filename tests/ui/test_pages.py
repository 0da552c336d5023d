"""Every view as a page from a file: no kernel, no network, and still a view."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

import mixnet as mx
from mixnet.widgets import ScalingView
from mixnet.widgets.freeze import notebook_page
from tests.ui.conftest import Watched, counts, says, settle, shown
from tests.ui.reading import unreadable
from tests.ui.steps import STEPS
from tests.ui.test_sizes import WIDTHS
from tests.widgets.examples import EXAMPLES


def at_all_widths(page: Any) -> Iterator[int]:
    """Make the window narrower step by step, and check that all of the page can be read in each width."""
    faults = {}
    for width in reversed(WIDTHS):
        page.set_viewport_size({"width": width, "height": 900})
        settle(page)
        faults[width] = unreadable(page, "body")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
        yield width
    assert not any(faults.values()), faults


def test_every_view_has_steps() -> None:
    optional = {"torch_look"}  # needs torch
    assert set(STEPS) - optional == set(EXAMPLES) - optional and optional <= set(STEPS)


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_a_page_of_a_view_is_readable_and_obeys(
    watched: Watched, example: Callable[[str], Path], name: str
) -> None:
    page = watched.page
    page.goto(example(name).as_uri())
    view = shown(page)
    STEPS[name](page, view)
    page.emulate_media(color_scheme="dark")
    settle(page)
    assert watched.axe("body") == []
    assert watched.outside == []
    assert watched.errors == []


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_a_page_without_scripts_is_readable(
    noting: Watched, example: Callable[[str], Path], tmp_path: Path, name: str
) -> None:
    """Picture, table and answers, as in a notebook that is not trusted; all of it opened."""
    text = example(name).read_text(encoding="utf-8")
    (tmp_path / "a.html").write_text(re.sub(r"(?s)<script.*?</script>", "", text), encoding="utf-8")
    page = noting.page
    page.goto((tmp_path / "a.html").as_uri())
    assert (
        page.locator("figure img").evaluate("(img) => img.decode().then(() => img.clientWidth)")
        > 50
    )
    page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
    for width in at_all_widths(page):
        scale = page.locator("figure img").evaluate("(img) => img.clientWidth / img.naturalWidth")
        assert scale >= 0.74, f"{width}: text of the picture is too small"
    assert noting.axe_in_both_themes("body") == {}
    assert noting.outside == []
    assert noting.errors == []


def test_a_page_that_runs_a_network(noting: Watched, tmp_path: Path) -> None:
    """A page of ``export_page``, after a digit was drawn; one class has a long name."""
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Conv2D(4, 5, activation="relu"), mx.gluon.nn.Dense(3))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    net(mx.nd.ones((1, 1, 28, 28)))
    labels = ["nought", "one", "something else that has a rather long name"]
    page = noting.page
    page.goto(Path(net.export_page(str(tmp_path / "a.html"), draw=True, labels=labels)).as_uri())
    area = page.locator("#pad").bounding_box()
    page.mouse.move(area["x"] + 140, area["y"] + 60)
    page.mouse.down()
    page.mouse.move(area["x"] + 140, area["y"] + 220, steps=5)
    page.mouse.up()
    counts(page.locator("#scores li"), 3)
    assert list(at_all_widths(page))
    assert noting.axe_in_both_themes("body") == {}
    assert noting.outside == []
    assert noting.errors == []


def test_a_notebook_as_a_page(watched: Watched, tmp_path: Path) -> None:
    """Text with a link, code, and several views beside each other."""
    cells = [nbformat.v4.new_markdown_cell("# A notebook\n\nSee [the next one](b.ipynb).")]
    for number, name in enumerate(("graph", "graph", "timeline", "puzzle"), 1):
        output = nbformat.v4.new_output("display_data", {"text/html": EXAMPLES[name]().html()})
        source = f"view = 'a text'  # {name}"
        cells.append(nbformat.v4.new_code_cell(source, outputs=[output], execution_count=number))
    about = {"language_info": {"name": "python"}}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=about)
    (tmp_path / "a.html").write_text(notebook_page(notebook), encoding="utf-8")
    page = watched.page
    page.goto((tmp_path / "a.html").as_uri())
    shown(page)
    counts(page.locator(".mx-static[data-ready]"), 4)
    settle(page)
    assert watched.axe("body") == []
    assert watched.outside == []
    assert watched.errors == []


def test_the_picture_remains_without_scripts(browser, example: Callable[[str], Path]) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(example("array").as_uri())
    assert page.locator("figure img").bounding_box()["height"] > 50
    assert page.locator("details summary").inner_text() == "Table"
    context.close()


def test_an_exchange_of_too_many_leaves_no_picture_without_a_name(
    watched: Watched, tmp_path: Path
) -> None:
    view = EXAMPLES["scaling"]()
    model = view.payload["model"]
    net = mx.gluon.nn.Dense(2, in_units=3)
    net.initialize()
    many = mx.distributed.topology(net, workers=17)
    ScalingView([], model=model, topology=many).to_html(tmp_path / "a.html")
    page = watched.page
    page.goto((tmp_path / "a.html").as_uri())
    shown(page)
    devices = page.get_by_label("devices", exact=True)
    devices.focus()
    devices.press("End")
    says(page.locator(".mx"), "Drawn for up to 16 devices")
    assert watched.axe("body") == [] and watched.errors == []
