"""A real browser and real servers: JupyterLab, Notebook 7, and pages from files."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mixnet.distributed.addresses import free_port
from tests.ui.reading import NOTE_TEXTS

ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
AXE = ROOT / "widgets" / "node_modules" / "axe-core" / "axe.min.js"
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    # Pages reach this machine alone.
    "--no-proxy-server", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]  # fmt: skip
# Scripts of most pages run for a second: optimizing them costs more than it saves. Benchmarks omit this.
QUICK_SCRIPTS = "--js-flags=--no-opt --no-maglev --single-threaded"
LOCAL = ("http://127.0.0.1:", "data:", "blob:", "file:")
# Without news from the net; and the state of widgets is saved.
SETTINGS = {
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyter-widgets/jupyterlab-manager/plugin": {"saveState": True},
}
TOKEN = "token-of-the-tests"
VIEWPORT = {"width": 1280, "height": 1100}
TIMEOUT = 60_000.0  # milliseconds


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


# Modules whose tests need notebook servers. One worker runs them, with a browser and both servers;
# another one, with a browser of its own, runs the tests of pages from files.
SERVED = {
    "test_board",
    "test_course",
    "test_notebooks",
    "test_playground",
    "test_saved",
    "test_vscode",
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = missing()
    folder = str(Path(__file__).parent) + os.sep
    for item in items:
        if str(item.path).startswith(folder):
            group = "ui with servers" if item.path.stem in SERVED else "ui"
            item.add_marker(pytest.mark.xdist_group(group))
            if reason is not None:
                item.add_marker(pytest.mark.skip(reason=reason))


@dataclass
class Server:
    """A program of a running Jupyter server, JupyterLab or Notebook 7, and its folder there."""

    url: str
    base: Path  # of all that the server writes
    is_lab: bool

    @property
    def place(self) -> str:
        """The folder's name: the programs share the server, but no notebooks."""
        return "lab" if self.is_lab else "notebook7"

    @property
    def folder(self) -> Path:
        """Where its notebooks are."""
        return self.base / "root" / self.place


LIMIT = 300.0  # seconds that a test may wait for its page


def end_browsers(kind: str) -> None:
    """Kill the processes of this process's browsers whose command line has ``kind`` in it."""
    import psutil

    for process in psutil.Process().children(recursive=True):
        try:
            if "chrom" in process.name() and any(kind in each for each in process.cmdline()):
                process.kill()
        except psutil.Error:
            continue


@contextlib.contextmanager
def limited(pattern: str, kind: str = "--type=renderer", seconds: float = LIMIT) -> Iterator[None]:
    """End what waits for a page longer than this.

    Playwright waits without limit for the value of a script and for a page to close. Without the
    process that draws it, a page has crashed, which Playwright raises.
    """

    def end() -> None:
        print(f"\n{pattern} did not end in {seconds:.0f} s: its page is ended", file=sys.__stderr__)
        end_browsers(kind)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[object]:
    with limited(item.nodeid, seconds=getattr(item.module, "SECONDS", LIMIT)):
        return (yield)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS, QUICK_SCRIPTS])
        yield opened
        with limited("closing the browser", "", 60):
            opened.close()


@pytest.fixture(scope="session")
def context(browser: Any) -> Iterator[Any]:
    """All pages share it: the megabytes of JupyterLab's scripts are read and compiled once."""
    opened = browser.new_context(viewport=VIEWPORT)
    opened.set_default_timeout(TIMEOUT)
    yield opened
    opened.close()


@contextlib.contextmanager
def serve(base: Path) -> Iterator[str]:
    """The address of a Jupyter server that keeps all it writes below ``base``."""
    folders = {}
    for name in ("CONFIG", "DATA", "RUNTIME"):
        folders[f"JUPYTER_{name}_DIR"] = str(base / name.lower())
    folders["IPYTHONDIR"] = str(
        base / "ipython"
    )  # the user's has one history, which processes lock
    for name in ("SETTINGS", "WORKSPACES"):
        folders[f"JUPYTERLAB_{name}_DIR"] = str(base / name.lower())
    for name, values in SETTINGS.items():
        path = base / "settings" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))
    port = free_port()
    command = [
        sys.executable, "-m", "tests.kernels", "jupyterlab", "--no-browser", "--allow-root",
        "--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0", f"--IdentityProvider.token={TOKEN}",
        f"--ServerApp.root_dir={base / 'root'}", "--LabApp.expose_app_in_browser=True",
        "--JupyterNotebookApp.expose_app_in_browser=True",
    ]  # fmt: skip
    environment = {**os.environ, **folders, "PYTHONPATH": str(ROOT)}
    log = (base / "log").open("w")
    process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        answers(f"{url}/api?token={TOKEN}", process, base / "log")
        yield url
    finally:
        end(process)
        log.close()


def answers(url: str, process: subprocess.Popen[bytes], log: Path, seconds: float = 120) -> None:
    """Wait until a server answers."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        assert process.poll() is None, log.read_text()
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"{process.args} did not answer in {seconds:.0f} s:\n{log.read_text()}")


def end(process: subprocess.Popen[bytes]) -> None:
    """Ask a server to end, which ends its kernels, and kill it if it does not."""
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(30)


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Server]]:
    """JupyterLab and Notebook 7 of one server."""
    base = tmp_path_factory.mktemp("jupyter")
    for name in ("lab", "notebook7"):
        (base / "root" / name).mkdir(parents=True)
    with serve(base) as url:
        yield {
            "lab": Server(url, base, is_lab=True),
            "notebook7": Server(url, base, is_lab=False),
        }


@pytest.fixture(scope="session")
def lab(served: dict[str, Server]) -> Server:
    return served["lab"]


@pytest.fixture(scope="session")
def notebook7(served: dict[str, Server]) -> Server:
    return served["notebook7"]


# The rules of axe-core for each theme, all its usual ones for the light one. A theme changes nothing but
# colours, and all rules take three times as long as those on colours.
THEMES: dict[str, tuple[str, ...]] = {
    "light": (),
    "dark": ("color-contrast", "link-in-text-block"),
}


@dataclass
class Watched:
    """A page, what it asked of others, and what it complained about."""

    page: Any
    outside: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def answers(self) -> bool:
        """Whether the page has a process that runs its scripts; the news of a crash comes late."""
        from playwright.sync_api import Error

        try:
            return bool(self.page.evaluate("true"))
        except Error:
            return False

    def axe(self, selector: str, rules: tuple[str, ...] = ()) -> list[str]:
        """Findings of axe-core below an element, of all its usual rules or of these."""
        if not AXE.is_file():
            pytest.skip("needs axe-core: (cd widgets && npm ci)")
        if not self.page.evaluate("Boolean(window.axe)"):
            self.page.evaluate(AXE.read_text())
        # What is read below.
        options: dict[str, Any] = {"resultTypes": ["violations"], "selectors": False}
        if rules:
            options["runOnly"] = {"type": "rule", "values": rules}
        result = value_within(
            self.page, "([s, options]) => axe.run(s, options)", [selector, options]
        )
        return [
            f"{each['id']}: {each['help']} ({node['html'][:200]})"
            for each in result["violations"]
            for node in each["nodes"]
        ]

    def axe_in_both_themes(self, selector: str) -> dict[str, list[str]]:
        """Findings of the rules for each theme, where there are any."""
        findings = {}
        for theme, rules in THEMES.items():
            self.page.emulate_media(color_scheme=theme)
            settle(self.page)
            findings[theme] = self.axe(selector, rules)
        return {theme: each for theme, each in findings.items() if each}

    def failed(self, name: str) -> None:
        """Keep a picture of the page of a test that failed, if the page can still be drawn."""
        from playwright.sync_api import Error

        shots = ROOT / "build" / "ui"
        shots.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(Error):
            self.page.screenshot(path=str(shots / f"{name}.png".replace("/", "_")), timeout=10_000)


# Playwright waits for the promise of a script without limit, and a command of JupyterLab that asks something
# in a dialog never ends. The debugger holds the promise weakly, and has reported it as garbage, so the page
# stores the outcome, and is asked for it.
_START = """(argument) => {
  const outcome = globalThis.mixnetOutcome = { ended: false };
  const end = (result) => Object.assign(outcome, { ended: true }, result);
  const work = async () => (%s)(argument);
  work().then((value) => end({ value }), (error) => end({ error: `${error?.stack ?? error}` }));
}"""
_ENDED = """() => {
  const { ended, error } = globalThis.mixnetOutcome ?? {};
  if (error) throw new Error(error);
  return ended;
}"""


def within(page: Any, script: str, argument: Any = None, seconds: float = 60) -> None:
    """Run a function of JavaScript, which may be a promise that never ends."""
    from playwright.sync_api import Error, TimeoutError

    page.evaluate(_START % script, argument)
    try:
        page.wait_for_function(_ENDED, polling=20, timeout=1000 * seconds)
    except TimeoutError:
        raise Error(f"no answer in {seconds} s: {script}") from None


def value_within(page: Any, script: str, argument: Any = None, seconds: float = 60) -> Any:
    """The value of such a function."""
    within(page, script, argument, seconds)
    return page.evaluate("() => globalThis.mixnetOutcome.value")


# Views draw in the next frame, and again when their size changes.
_SETTLES = """async () => {
  const ends = (move) => move.effect.getComputedTiming().endTime !== Infinity;
  const moves = document.getAnimations().filter(ends);
  await Promise.allSettled(moves.map((each) => each.finished));
  for (let frames = 0; frames < 4; frames++) await new Promise(requestAnimationFrame);
}"""


def settle(page: Any) -> None:
    """Wait until what moves has come to rest and the views have drawn what changed."""
    for frame in page.frames:
        within(frame, _SETTLES)


def shown(page: Any) -> Any:
    """The view of a page, when its scripts run and it is drawn in its final size.

    A view is put into its page before it has a size, and draws anew when it has one; what a test
    clicks or gives the focus before may be replaced.
    """
    view = page.locator(".mx-static[data-ready] > div > .mx").first
    view.wait_for(timeout=TIMEOUT)
    settle(page)
    return view


def waiting(place: Any) -> Any:
    """Playwright's assertions about an element; they wait for what is drawn in a later frame."""
    from playwright.sync_api import expect

    return expect(place)


def holds(place: Any, condition: str) -> None:
    """Wait until a function of an element, in JavaScript, is true."""
    end = time.monotonic() + TIMEOUT / 1000
    while not place.evaluate(condition):
        assert time.monotonic() < end, f"{place} does not fulfil {condition}"
        place.page.wait_for_timeout(50)


def says(place: Any, *texts: str | re.Pattern[str], ignore_case: bool = False) -> None:
    """Wait until an element says all of these."""
    for text in texts:
        waiting(place).to_contain_text(
            text, ignore_case=ignore_case, use_inner_text=True, timeout=TIMEOUT
        )


def lacks(place: Any, text: str) -> None:
    """Wait until an element no longer says this."""
    waiting(place).not_to_contain_text(text, use_inner_text=True, timeout=TIMEOUT)


def counts(places: Any, number: int) -> None:
    """Wait until there are so many."""
    waiting(places).to_have_count(number, timeout=TIMEOUT)


def has(place: Any, name: str, value: str) -> None:
    """Wait until an element has an attribute of this value."""
    waiting(place).to_have_attribute(name, value, timeout=TIMEOUT)


# ``complete`` is also a picture that has no source yet, or is not decoded.
PICTURES_ARE_DRAWN = """() => [...document.querySelectorAll('figure img')]
  .every((img) => img.complete && img.naturalWidth > 0 && img.clientWidth > 0)"""


def watch(page: Any) -> Watched:
    """A page that notes what it asks of other machines, which it does not reach.

    It is not asked about each request (``page.route``): the browser would store no file of JupyterLab.
    """
    watched = Watched(page)

    def note(request: Any) -> None:
        if not request.url.startswith(LOCAL):
            watched.outside.append(request.url)

    page.on("request", note)

    def complaint(error: Any) -> None:
        stack = error.stack or ""
        # Views run from blob: addresses; what fails in the notebook's own files alone is its own.
        if "blob:" in stack or "/static/" not in stack:
            watched.errors.append(f"{error}\n{stack}")

    page.on("pageerror", complaint)
    page.on("console", lambda line: line.type == "error" and watched.errors.append(line.text))
    return watched


@pytest.fixture(scope="session")
def pages(context: Any) -> Iterator[dict[str, Watched]]:
    """Pages that tests use in turn: a new one takes longer than most of what they show."""
    lent: dict[str, Watched] = {}
    yield lent
    for each in lent.values():
        each.page.close()


# A launcher keeps the place: JupyterLab would open one later, in front of the next notebook.
LEAVE = """async () => {
  const { shell, commands } = jupyterapp;
  const left = [...shell.widgets('main')];
  await commands.execute('launcher:create');
  for (const each of left) {
    await each.sessionContext?.shutdown();
    each.dispose();
  }
}"""


def in_lab(page: Any) -> bool:
    """Whether a page shows JupyterLab."""
    path = urllib.parse.urlsplit(page.url).path
    return path.startswith("/lab") and bool(page.evaluate("Boolean(window.jupyterapp)"))


def leave(page: Any) -> None:
    """Close all notebooks of JupyterLab without saving, and end their kernels."""
    within(page, LEAVE)


def borrowed(pages: dict[str, Watched], context: Any, name: str, script: str = "") -> Watched:
    """The page of this name, in front, in its usual size; a new one runs a script before all others."""
    if name in pages and not pages[name].answers():
        pages.pop(name).page.close()
    if name not in pages:
        pages[name] = watch(context.new_page())
        pages[name].page.add_init_script(script)
    page = pages[name].page
    page.bring_to_front()  # a page behind another one draws once a second
    page.set_viewport_size(VIEWPORT)
    page.emulate_media(color_scheme="null")
    return pages[name]


def returned(lent: Watched) -> None:
    """JupyterLab stays loaded, without notebooks; any other page is left."""
    lent.page.set_default_timeout(TIMEOUT)
    if in_lab(lent.page):
        leave(lent.page)
    else:
        lent.page.goto("about:blank")
    lent.outside.clear()
    lent.errors.clear()


def lend(
    pages: dict[str, Watched],
    context: Any,
    request: pytest.FixtureRequest,
    name: str,
    script: str = "",
) -> Iterator[Watched]:
    """A page as if it were new. When its test fails, a picture is kept and the page is replaced."""
    lent = borrowed(pages, context, name, script)
    failures = request.session.testsfailed
    yield lent
    if request.session.testsfailed > failures:
        lent.failed(request.node.name)
        pages.pop(name).page.close()
    else:
        returned(lent)


@pytest.fixture
def watched(
    context: Any, pages: dict[str, Watched], request: pytest.FixtureRequest
) -> Iterator[Watched]:
    """A page that reaches this machine alone."""
    yield from lend(pages, context, request, "watched")


@pytest.fixture
def beside(
    context: Any, pages: dict[str, Watched], request: pytest.FixtureRequest
) -> Iterator[Watched]:
    """Another one, so that ``watched`` need not leave JupyterLab, which takes long to load again."""
    yield from lend(pages, context, request, "beside")


@pytest.fixture
def noting(
    context: Any, pages: dict[str, Watched], request: pytest.FixtureRequest
) -> Iterator[Watched]:
    """The same; its canvases note the texts that they draw, which :func:`unreadable` reads."""
    yield from lend(pages, context, request, "noting", NOTE_TEXTS)


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The page of an example, which is computed and written once, for all tests that only read it."""
    from tests.widgets.examples import EXAMPLES

    folder = tmp_path_factory.mktemp("examples")

    def of(name: str) -> Path:
        path = folder / f"{name}.html"
        if not path.exists():
            EXAMPLES[name]().to_html(path)
        return path

    return of


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages that Sphinx built."""
    for module in ("sphinx", "myst_nb", "furo"):
        pytest.importorskip(module, reason="pip install 'mixnet[docs]'")
    from tests.ui.site import build

    return build(tmp_path_factory.mktemp("site"))
