"""An ordinary save keeps every figure: run, save, reopen with a new kernel, run again."""

from __future__ import annotations

from typing import Any

import nbformat
import pytest

from mixnet.widgets import live
from tests.ui.conftest import Server, Watched, leave
from tests.ui.notebooks import LEAKED, command, open_in, open_whole, restart, run_all, write
from tests.widgets.examples import EXAMPLES

SHOW = "from tests.widgets.examples import EXAMPLES\nEXAMPLES[{name!r}]()"
NAMES = sorted(EXAMPLES)

# Of each output: the width of its picture, or of the view in its place.
WIDTHS = """() => [...document.querySelectorAll('.jp-OutputArea-output')].map((output) =>
  output.querySelector('.mx')?.clientWidth ?? output.querySelector('figure img')?.naturalWidth ?? 0)"""
ALL_LEAKED = (
    f"() => [...document.querySelectorAll('.jp-OutputArea .mx-static > div > .mx')].map({LEAKED})"
)


def save(page: Any) -> None:
    command(page, "docmanager:save")
    page.wait_for_function("() => !jupyterapp.shell.currentWidget.context.model.dirty")


def live_views(page: Any) -> None:
    """Wait until every output has its live view."""
    page.wait_for_function(
        f"() => document.querySelectorAll('.jp-OutputArea .mx-static > div > .mx').length === {len(NAMES)}"
    )


def reopened(page: Any, server: Server, name: str) -> None:
    """Open the notebook again; every output shows its view, or the picture of it."""
    open_whole(page, server, name)
    page.wait_for_function(
        f"() => {{ const all = ({WIDTHS})(); return all.length === {len(NAMES)} && "
        f"all.every((w) => w > 50) }}",
        timeout=60_000,
    )
    assert "Error displaying widget" not in page.locator("body").inner_text()


@pytest.mark.parametrize("kind", ["notebook7", "lab"])
def test_a_saved_notebook_shows_every_view(kind: str, request: pytest.FixtureRequest) -> None:
    server: Server = request.getfixturevalue(kind)
    page = request.getfixturevalue("watched" if kind == "lab" else "beside").page
    name = write(server, "saved", *(SHOW.format(name=each) for each in NAMES))
    open_whole(page, server, name)
    run_all(page)
    live_views(page)
    assert {
        name: leaks for name, leaks in zip(NAMES, page.evaluate(ALL_LEAKED), strict=True) if leaks
    } == {}
    save(page)
    stored = nbformat.read(server.folder / name, as_version=4)
    for cell in stored.cells:
        (output,) = cell.outputs
        assert live.MIME not in output.data and "<figure" in output.data["text/html"], cell.source
    restart(page)
    if kind == "lab":
        leave(page)
    else:
        page.goto("about:blank")
    reopened(page, server, name)

    # As it is saved without the state of widgets, which is the default; and not trusted, being
    # written by another.
    stored.metadata.pop("widgets", None)
    nbformat.write(stored, server.folder / name)
    reopened(page, server, name)
    assert page.locator(".jp-OutputArea .mx").count() == 0
    if kind == "lab":  # the kernel and the cells know nothing of where they are shown
        run_all(page)
        live_views(page)


RENEW = """
from tests.widgets.examples import EXAMPLES
view = EXAMPLES["array"]()
view.watch(lambda state: setattr(view, "payload", {**view.payload, "state": "renewed"}))
view
"""


def test_a_renewed_picture_leaves_the_view_as_it_is(lab: Server, watched: Watched) -> None:
    page = watched.page
    name = write(lab, "renewed", RENEW)
    open_in(page, lab, name)
    run_all(page)
    view = page.locator(".jp-OutputArea .mx")
    view.evaluate("(element) => (element.dataset.same = 'yes')")
    view.locator("canvas").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function(
        "() => jupyterapp.shell.currentWidget.context.model.cells.get(0).outputs.get(0)"
        ".data['text/plain'].includes('renewed')"
    )
    page.wait_for_timeout(300)
    assert view.get_attribute("data-same") == "yes" and view.count() == 1
    assert page.evaluate("document.activeElement.className") == "mx-canvas", "the focus stays"
    assert watched.errors == []
