"""python -m tests.benchmarks.views

How quick views are in a browser: time from the page's start to the first picture, drawing a frame
while panning and zooming (median and 95th percentile of the drawing alone), bytes of data; for the
graph of ResNet-152 forward and backward, memory with 50,000 boxes, a timeline of 50,000 operations;
the time from choosing a box in JupyterLab to Python's answer; and the size of notebooks with five
views.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat

import mixnet as mx
from mixnet.widgets import EngineTimeline, GraphView, MemoryView, View
from mixnet.widgets.freeze import freeze
from mixnet.widgets.page import pack, static
from tests.ui.conftest import CHROMIUM, FLAGS, Server, serve
from tests.ui.notebooks import open_in, run_all, write
from tests.ui.test_many_boxes import log_of_many
from tests.widgets.examples import EXAMPLES

FRAMES = 120
PAN = """async (count) => {
  const canvas = document.querySelector('canvas.mx-canvas'), times = [];
  canvas.focus();
  const keys = ['+', '+', 'ArrowRight', 'ArrowDown', 'ArrowLeft', 'ArrowUp', '-', '-'];
  for (let i = 0; i < count; i++) {
    const before = canvas.dataset.frames;
    canvas.dispatchEvent(new KeyboardEvent('keydown', { key: keys[i % keys.length], bubbles: true }));
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    if (canvas.dataset.frames !== before) times.push(Number(canvas.dataset.drawTime));
  }
  return times;
}"""


CHOOSE = """async (count) => {
  const canvas = document.querySelector('.jp-OutputArea canvas.mx-canvas'), times = [];
  const heard = () => document.querySelector('.jp-OutputArea .heard')?.textContent;
  canvas.focus();
  for (let i = -3; i < count; i++) { // a few steps down first, so that there is something above
    const before = heard(), start = performance.now();
    canvas.dispatchEvent(new KeyboardEvent('keydown', {
      key: i > 0 && i % 2 ? 'ArrowUp' : 'ArrowDown', bubbles: true }));
    while (heard() === before) {
      if (performance.now() - start > 5000) throw new Error(`nothing was chosen after ${before}`);
      await new Promise((done) => setTimeout(done, 1));
    }
    if (i >= 0) times.push(performance.now() - start);
    await new Promise((done) => setTimeout(done, 200));
  }
  return times;
}"""
CELL = """
import ipywidgets
from tests.benchmarks.views import resnet
view = resnet()
heard = ipywidgets.HTML("<b class='heard'>nothing yet</b>")
view.watch(lambda state: setattr(heard, "value", f"<b class='heard'>{state['selected']}</b>"))
display(heard, view)
"""


def resnet() -> View:
    """ResNet-152 with its gradients."""
    net = mx.gluon.model_zoo.vision.resnet152_v1()
    net.initialize()
    return GraphView(net, mx.nd.ones((1, 3, 224, 224)), train=True)


def timeline() -> View:
    """50,000 small operations on four threads."""
    rows: list[dict[str, Any]] = []
    for i in range(50_000):
        start = i // 4 * 1000
        rows.append(
            {
                "number": i,
                "name": f"op{i % 50}",
                "resource": "compute:cpu(0)",
                "priority": 0,
                "thread": f"worker {i % 4}",
                "pushed": start - 500,
                "ready": start - 200,
                "started": start,
                "ended": start + 900,
                "reads": [[f"v{i % 97}", i // 97]],
                "writes": [[f"v{i % 97}", i // 97 + 1]],
                "source": None,
                "error": None,
            }
        )
    return EngineTimeline(rows)


def measure(browser: Any, name: str, make: Callable[[], View], open_all: bool = False) -> None:
    """Print the figures of one view."""
    start = time.perf_counter()
    view = make()
    building = time.perf_counter() - start
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.html"
        view.to_html(path)
        firsts = []
        for _ in range(5):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(path.as_uri())
            page.wait_for_function(
                "() => document.querySelector('canvas.mx-canvas')?.dataset.first"
            )
            firsts.append(
                float(page.evaluate("document.querySelector('canvas.mx-canvas').dataset.first"))
            )
            if len(firsts) < 5:
                page.close()
        if open_all:
            page.get_by_label("open all blocks").click()
            page.wait_for_timeout(1500)
        times = sorted(page.evaluate(PAN, FRAMES))
        page.close()
    packed = len(pack({"payload": view.payload, "state": view.state}))
    print(
        f"{name:44s} built in {building:6.2f} s   data {packed / 1000:7.1f} kB   first picture "
        f"{statistics.median(firsts):6.0f} ms   "
        f"frame {statistics.median(times):5.2f} ms, 95%: {times[int(0.95 * len(times))]:5.2f} ms"
    )


def choose(browser: Any) -> None:
    """Print how long JupyterLab takes from choosing a box to Python's answer on the page."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        (base / "root" / "lab").mkdir(parents=True)
        with serve(base) as url:
            server = Server(url, base, is_lab=True)
            page = browser.new_page(viewport={"width": 1280, "height": 1100})
            open_in(page, server, write(server, "choose", CELL))
            run_all(page)
            times = sorted(page.evaluate(CHOOSE, 41))
            page.close()
    print(
        "a box of ResNet-152 is chosen in JupyterLab, Python hears of it and answers: median "
        f"{statistics.median(times):.0f} ms, 95%: {times[int(0.95 * len(times))]:.0f} ms"
    )


def weigh() -> None:
    """Print the size of a notebook with five views: saved by JupyterLab, and frozen."""
    views = [EXAMPLES[name]() for name in ("graph", "memory", "timeline", "stepper", "scaling")]
    cells, state = [], {}
    for i, view in enumerate(views):
        data, _ = view._repr_mimebundle_()
        data["application/vnd.jupyter.widget-view+json"] = {"model_id": f"m{i}"}
        output = nbformat.v4.new_output("display_data", data=data)
        cells.append(nbformat.v4.new_code_cell("view", outputs=[output]))
        values = {
            "payload": view.payload,
            "state": view.state,
            "_esm": static(f"{view.bundle}.js"),
            "_css": static("mx.css"),
        }
        state[f"m{i}"] = {"model_name": "AnyModel", "state": values}
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": {"state": state}}
    saved = len(nbformat.writes(notebook))
    print(
        f"notebook of five views: saved {saved / 1e6:.2f} MB, frozen "
        f"{len(nbformat.writes(freeze(notebook))) / 1e6:.2f} MB"
    )


def main() -> None:
    """Print all figures."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        measure(browser, "GraphView, ResNet-152, forward and backward", resnet)
        choose(browser)
        measure(browser, "the same, everything open", resnet, open_all=True)
        measure(browser, "MemoryView.live, 50,000 boxes", lambda: MemoryView.live(log_of_many()))
        measure(browser, "EngineTimeline, 50,000 operations", timeline)
        browser.close()
    weigh()


if __name__ == "__main__":
    main()
