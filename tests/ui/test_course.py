"""Every notebook of the course in a real browser: opened as stored, run, saved, reopened, read.

All of them take minutes: ``make browser-course``. Otherwise one is opened, and another is run.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest

from mixnet.widgets import live
from tests.ui.conftest import ROOT, Server, Watched, leave, settle
from tests.ui.notebooks import command, open_whole, restart
from tests.ui.reading import FIND, NOTE_TEXTS

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
EVERY = bool(os.environ.get("MIXNET_TEST_COURSE"))
OPENED = [] if EVERY else [NOTEBOOKS[0]]
RUN = NOTEBOOKS if EVERY else [NOTEBOOKS[2]]
MINUTES = 20 if EVERY else 3  # the longest takes two on free cores
SECONDS = 60 * MINUTES  # that a test may wait for its page
# How many pictures of outputs cannot be seen.
UNSEEN = """() => [...document.querySelectorAll('.jp-OutputArea-output img')].filter(
  (img) => img.checkVisibility()
    && !(img.complete && img.naturalWidth > 20 && img.clientWidth > 20)).length"""
DONE = """() => {
  const widget = jupyterapp.shell.currentWidget;
  return widget.sessionContext.session.kernel.status === 'idle'
    && [...widget.context.model.cells].filter((c) => c.type === 'code' && c.sharedModel.source.trim())
      .every((c) => c.executionCount);
}"""
# Every view that ran has taken the place of its picture.
ALIVE = """() => [...document.querySelectorAll('.jp-OutputArea .mx-static')]
  .every((each) => each.querySelector(':scope > div > .mx'))"""


@pytest.fixture(scope="module")
def course(lab: Server) -> str:
    """A folder of the server with the notebooks and what they import; its name."""
    target = lab.folder / "course"
    shutil.copytree(ROOT / "notebooks", target, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    return target.name


def reads(page: Any, path: Path) -> None:
    """Wait until every figure of a notebook is there; nothing stands in the place of one."""
    figures = sum(
        "<figure" in output.get("data", {}).get("text/html", "")
        for cell in nbformat.read(path, as_version=4).cells
        for output in cell.get("outputs", [])
    )
    page.wait_for_function(
        "(n) => document.querySelectorAll('.jp-OutputArea .mx, .jp-OutputArea figure img').length >= n",
        arg=figures,
        timeout=30_000,
    )
    page.wait_for_function(f"() => ({UNSEEN})() === 0", timeout=60_000)
    shown = page.locator(".jp-Notebook").inner_text()
    assert "Error displaying widget" not in shown and "Javascript Error" not in shown


@pytest.mark.parametrize("path", OPENED, ids=lambda path: path.stem)
def test_a_notebook_opens_as_it_is_stored(
    lab: Server, watched: Watched, course: str, path: Path
) -> None:
    opens(lab, watched, course, path)


def opens(lab: Server, watched: Watched, course: str, path: Path) -> None:
    """A notebook is opened, with all of its figures."""
    open_whole(watched.page, lab, f"{course}/{path.name}")
    if not watched.page.evaluate("Boolean(window.textsOf)"):
        watched.page.evaluate(f"() => {{ {NOTE_TEXTS} }}")
    reads(watched.page, path)
    assert watched.errors == []


@pytest.mark.parametrize("path", RUN, ids=lambda path: path.stem)
def test_a_notebook_runs_and_opens_again_after_saving(
    lab: Server, watched: Watched, course: str, path: Path
) -> None:
    page, name = watched.page, f"{course}/{path.name}"
    opens(lab, watched, course, path)
    page.set_default_timeout(MINUTES * 60_000)
    command(page, "notebook:clear-all-cell-outputs")
    command(page, "notebook:run-all-cells", seconds=SECONDS)
    page.wait_for_function(DONE, timeout=MINUTES * 60_000)
    page.wait_for_function(ALIVE)
    settle(page)
    views = page.locator(".jp-OutputArea .mx").all()
    assert views
    actual = {i: view.evaluate(FIND) for i, view in enumerate(views)}
    assert {i: each for i, each in actual.items() if each} == {}
    command(page, "docmanager:save")
    page.wait_for_function("() => !jupyterapp.shell.currentWidget.context.model.dirty")
    saved = nbformat.read(lab.folder / name, as_version=4)
    outputs = [each for cell in saved.cells for each in cell.get("outputs", [])]
    assert not [each for each in outputs if each.output_type == "error"]
    assert not [each for each in outputs if live.MIME in each.get("data", {})]
    assert watched.errors == []
    if EVERY:
        restart(page)
        page.goto("about:blank")
    else:
        leave(page)
        watched.errors.clear()  # its kernel ended before it had answered all views
    open_whole(page, lab, name)
    reads(page, lab.folder / name)
    assert watched.errors == []
