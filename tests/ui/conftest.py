"""A real browser and real servers: JupyterLab, Notebook 7, and pages from files."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
AXE = ROOT / "widgets" / "node_modules" / "axe-core" / "axe.min.js"
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
# Without news from the net; and the state of widgets is saved.
SETTINGS = {
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyter-widgets/jupyterlab-manager/plugin": {"saveState": True},
}
TOKEN = "token-of-the-tests"


def missing() -> str | None:
    """What has to be installed before these tests can run."""
    if CHROMIUM is None:
        return "needs Chromium (Debian: apt install chromium fonts-dejavu)"
    for module, package in (
        ("playwright", "playwright"),
        ("anywidget", "mixnet[widgets]"),
        ("jupyterlab", "jupyterlab"),
        ("notebook", "notebook"),
    ):  # fmt: skip
        if importlib.util.find_spec(module) is None:
            return f"needs {module}: pip install {package!r}"
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = missing()
    folder = str(Path(__file__).parent) + os.sep
    for item in items:
        if str(item.path).startswith(folder):
            # One worker: a server and a browser are shared, and two cores are not more.
            item.add_marker(pytest.mark.xdist_group("ui"))
            if reason is not None:
                item.add_marker(pytest.mark.skip(reason=reason))


@dataclass
class Server:
    """A running notebook server and the folder that it shows."""

    url: str
    folder: Path


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def context(browser: Any) -> Iterator[Any]:
    """All pages share it: the megabytes of JupyterLab's scripts are read and compiled once."""
    opened = browser.new_context(viewport={"width": 1280, "height": 1100})
    yield opened
    opened.close()


def serve(kind: str, base: Path) -> Iterator[Server]:
    """A server of JupyterLab (``lab``) or Notebook 7 that keeps all it writes below ``base``."""
    folders = {}
    for name in ("CONFIG", "DATA", "RUNTIME"):
        folders[f"JUPYTER_{name}_DIR"] = str(base / name.lower())
    for name in ("SETTINGS", "WORKSPACES"):
        folders[f"JUPYTERLAB_{name}_DIR"] = str(base / name.lower())
    for name, values in SETTINGS.items():
        path = base / "settings" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))
    root = base / "root"
    root.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    app = "LabApp" if kind == "lab" else "JupyterNotebookApp"
    command = [
        sys.executable, "-m", "jupyterlab" if kind == "lab" else "notebook", "--no-browser", "--allow-root",
        "--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0", f"--IdentityProvider.token={TOKEN}",
        f"--ServerApp.root_dir={root}", f"--{app}.expose_app_in_browser=True",
    ]  # fmt: skip
    environment = {**os.environ, **folders, "PYTHONPATH": str(ROOT)}
    log = (base / "log").open("w")
    process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            assert process.poll() is None, (base / "log").read_text()
            try:
                urllib.request.urlopen(f"{url}/api?token={TOKEN}", timeout=2)
                break
            except OSError:
                time.sleep(0.1)
        yield Server(url, root)
    finally:
        process.terminate()
        process.wait(20)
        log.close()


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from serve("lab", tmp_path_factory.mktemp("lab"))


@pytest.fixture(scope="session")
def notebook7(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from serve("notebook", tmp_path_factory.mktemp("notebook7"))


@dataclass
class Watched:
    """A page, what it asked of others, and what it complained about."""

    page: Any
    outside: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def axe(self, selector: str) -> list[str]:
        """Serious and critical findings of axe-core below an element."""
        if not AXE.is_file():
            pytest.skip("needs axe-core: (cd widgets && npm ci)")
        self.page.evaluate(AXE.read_text())
        found = self.page.evaluate("(s) => axe.run(s)", selector)
        return [
            f"{each['id']}: {each['help']} ({node['html'][:200]})"
            for each in found["violations"]
            if each["impact"] in ("serious", "critical")
            for node in each["nodes"]
        ]

    def failed(self, name: str) -> None:
        """Keep a picture of the page of a test that failed."""
        shots = ROOT / "build" / "ui"
        shots.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=str(shots / f"{name}.png".replace("/", "_")))


def watch(page: Any) -> Watched:
    """A page that reaches this machine alone."""
    watched = Watched(page)

    def only_local(route: Any) -> None:
        if route.request.url.startswith(("http://127.0.0.1:", "data:", "blob:", "file:")):
            route.continue_()
        else:
            watched.outside.append(route.request.url)
            route.abort()

    page.route("**/*", only_local)

    def complaint(error: Any) -> None:
        stack = error.stack or ""
        # Views run from blob: addresses; what fails in the notebook's own files alone is its own.
        if "blob:" in stack or "/static/" not in stack:
            watched.errors.append(f"{error}\n{stack}")

    page.on("pageerror", complaint)
    page.on("console", lambda line: line.type == "error" and watched.errors.append(line.text))
    return watched


@pytest.fixture
def watched(context: Any, request: pytest.FixtureRequest) -> Iterator[Watched]:
    """A fresh page; a picture is kept when its test fails."""
    watched = watch(context.new_page())
    failures = request.session.testsfailed
    yield watched
    if request.session.testsfailed > failures:
        watched.failed(request.node.name)
    watched.page.close()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages that Sphinx built."""
    for module in ("sphinx", "myst_nb", "furo"):
        pytest.importorskip(module, reason="pip install 'mixnet[docs]'")
    from tests.ui.site import build

    return build(tmp_path_factory.mktemp("site"))
