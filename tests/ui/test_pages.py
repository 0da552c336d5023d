"""Every view as a page from a file: no kernel, no network, and still a view."""

from __future__ import annotations

from pathlib import Path

import pytest

import mixnet as mx
from mixnet.widgets import ScalingView
from tests.ui.conftest import Watched, says, settle, shown
from tests.ui.steps import STEPS
from tests.widgets.examples import EXAMPLES


def test_every_view_has_steps() -> None:
    optional = {"torch_look"}  # needs torch
    assert set(STEPS) - optional == set(EXAMPLES) - optional and optional <= set(STEPS)


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_page(watched: Watched, tmp_path: Path, name: str) -> None:
    EXAMPLES[name]().to_html(tmp_path / "a.html")
    page = watched.page
    page.goto((tmp_path / "a.html").as_uri())
    view = shown(page)
    STEPS[name](page, view)
    page.emulate_media(color_scheme="dark")
    settle(page)
    assert watched.axe("body") == []
    assert watched.outside == [] and watched.errors == []


def test_without_scripts_the_picture_stays(browser, tmp_path: Path) -> None:
    EXAMPLES["array"]().to_html(tmp_path / "a.html")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((tmp_path / "a.html").as_uri())
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
