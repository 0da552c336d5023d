"""Every view in JupyterLab, each kind of view in Notebook 7: it draws, obeys mouse and keyboard, tells
Python, follows the theme.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.ui.conftest import THEMES, Server, Watched, borrowed, returned, says, settle
from tests.ui.notebooks import LEAKED, command, fill, open_in, run_all, write
from tests.ui.steps import STEPS
from tests.widgets.examples import EXAMPLES

LIGHT = "JupyterLab Light"
MAKE = """
from pathlib import Path
from tests.widgets.examples import EXAMPLES
view = EXAMPLES[{name!r}]()
def note(state):
    import json
    Path({name!r} + ".json").write_text(json.dumps(state))
view.watch(note)
view
"""


# A canvas, charts, a drawing of SVG, lines of code, controls, and what is dragged. Notebook 7 is made of
# JupyterLab's parts; ``test_saved.py`` runs all views there.
IN_NOTEBOOK7 = ("array", "board", "graph", "laboratory", "puzzle", "stepper")
PLACES = [("lab", name) for name in sorted(EXAMPLES)]
PLACES += [("notebook7", name) for name in IN_NOTEBOOK7]
# Of the module, as the page is: for parameters of a test, every test would open the notebook again.
places = pytest.mark.parametrize(("server", "name"), PLACES, indirect=["server"], scope="module")


@pytest.fixture(scope="module", params=["lab", "notebook7"])
def server(request: pytest.FixtureRequest) -> Server:
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def opened(server: Server, context: Any, pages: dict[str, Watched]) -> Iterator[Watched]:
    """A notebook with one cell, which the tests fill in turn: its kernel and its page start once."""
    lent = borrowed(pages, context, "watched" if server.is_lab else "beside")
    open_in(lent.page, server, write(server, "views", ""))
    yield lent
    command(lent.page, "apputils:change-theme", theme=LIGHT)
    returned(lent)


@pytest.fixture
def notebook(opened: Watched, request: pytest.FixtureRequest) -> Iterator[Watched]:
    """The notebook in its light theme, without complaints of other tests."""
    opened.outside.clear()
    opened.errors.clear()
    command(opened.page, "apputils:change-theme", theme=LIGHT)
    failures = request.session.testsfailed
    yield opened
    if request.session.testsfailed > failures:
        opened.failed(request.node.name)


def wait_for_state(server: Server, page: Any, name: str, key: str, value: Any) -> None:
    """Wait until Python has received a state with this entry (``...``: of any value)."""
    path = server.folder / f"{name}.json"
    last: Any = None
    until = time.monotonic() + 60
    while time.monotonic() < until:
        text = path.read_text() if path.exists() else ""
        last = json.loads(text) if text else {}
        if key in last and (value is ... or last[key] == value):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"Python was not told of {key} = {value!r}; it knows {last}")


@places
def test_a_view_draws_obeys_and_reports(server: Server, notebook: Watched, name: str) -> None:
    page = notebook.page
    fill(page, MAKE.format(name=name))
    run_all(page)
    view = page.locator(".jp-OutputArea .mx-static > div > .mx")
    view.wait_for(timeout=60_000)
    settle(page)  # see ``shown``
    STEPS[name](page, view)
    for key, value in STEPS[name].state.items():
        wait_for_state(server, page, name, key, value)
    assert view.evaluate(LEAKED) == []
    assert notebook.axe(".jp-OutputArea .mx") == []
    light = page.evaluate("getComputedStyle(document.querySelector('.mx')).backgroundColor")
    command(page, "apputils:change-theme", theme="JupyterLab Dark")
    page.wait_for_function(
        "(was) => getComputedStyle(document.querySelector('.mx')).backgroundColor !== was",
        arg=light,
    )
    settle(page)
    assert notebook.axe(".jp-OutputArea .mx", THEMES["dark"]) == []
    assert notebook.outside == []
    assert notebook.errors == []


FAILS = """
import mixnet as mx
from mixnet.widgets import ArrayView

class Odd(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        raise ValueError("no value")

@mx.operator.register("odd")
class OddProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, shapes, dtypes):
        return Odd()

ArrayView(mx.nd.Custom(mx.nd.ones((2, 2)), op_type="odd"))
"""


# Notebook 7 first, as it is open: loading it again takes seconds. Parameters of the module would be run
# between those of other tests.
@pytest.mark.parametrize("server", ["notebook7", "lab"], indirect=True, scope="class")
def test_an_error_of_python_is_shown_in_the_view(notebook: Watched) -> None:
    page = notebook.page
    fill(page, FAILS)
    run_all(page)
    view = page.locator(".jp-OutputArea .mx-static > div > .mx")
    view.get_by_role("button", name="run the pending operations").click(timeout=60_000)
    view.get_by_role("status").filter(has_text="✗").wait_for(timeout=60_000)
    says(view.get_by_role("status"), "no value")
