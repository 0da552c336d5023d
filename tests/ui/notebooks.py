"""Notebooks for the browser tests, and driving them."""

from __future__ import annotations

from typing import Any

import nbformat

from tests.ui.conftest import TOKEN, Server, in_lab, leave, within

IDLE = "() => window.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"


def write(server: Server, name: str, *cells: str) -> str:
    """A notebook of code cells on the server; returns its name."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    notebook.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python 3",
        "language": "python",
    }
    (server.folder / f"{name}.ipynb").write_text(nbformat.writes(notebook))
    return f"{name}.ipynb"


OPENED = f"(path) => jupyterapp.shell.currentWidget?.context?.path === path && ({IDLE})()"


def open_in(page: Any, server: Server, name: str) -> None:
    """Open a notebook and wait for its kernel.

    A page of JupyterLab that is open stays: loading it takes most of a test's time. ``about:blank`` before
    loads it anew.
    """
    path = f"{server.place}/{name}"
    if page.url.startswith(f"{server.url}/") and in_lab(page):
        leave(page)
        command(page, "docmanager:open", path=path)
        page.wait_for_function(OPENED, arg=path, timeout=120_000)
        return
    place = f"lab/tree/{path}?token={TOKEN}&reset"
    if not server.is_lab:
        place = f"notebooks/{path}?token={TOKEN}"
    page.goto(f"{server.url}/{place}", wait_until="commit")
    page.wait_for_function(IDLE, timeout=120_000)


# A rule of this notebook, gone when it is closed.
_RENDER_ALL = """() => {
  const rule = document.createElement('style');
  rule.textContent = '.jp-Cell { content-visibility: visible !important }';
  jupyterapp.shell.currentWidget.node.append(rule);
}"""


def open_whole(page: Any, server: Server, name: str) -> None:
    """Open a notebook; cells out of sight are rendered as well.

    In a window of their height, each frame would draw all of them.
    """
    open_in(page, server, name)
    page.evaluate(_RENDER_ALL)


# The notebook moves the focus once more after its last cell: wait until it rests.
RESTS = """async () => {
  let last = null, since = 0;
  while (since < 6) {
    await new Promise((done) => setTimeout(done, 100));
    since = document.activeElement === last ? since + 1 : 0;
    last = document.activeElement;
  }
}"""


ERRORS = """() => [...jupyterapp.shell.currentWidget.context.model.cells]
  .flatMap((cell) => cell.outputs?.toJSON() ?? [])
  .filter((output) => output.output_type === 'error').map((output) => output.evalue)"""


def run_all(page: Any) -> None:
    """Run all cells; returns when they have run and the focus rests."""
    command(page, "notebook:run-all-cells", seconds=120)
    assert page.evaluate(ERRORS) == []
    page.locator(".jp-OutputArea .mx").first.wait_for(timeout=60_000)
    within(page, RESTS)


# What the rules of a notebook would do to a view: stripes, cells to the right, grey code, thin headings.
LEAKED = """(view) => {
  const style = (e) => getComputedStyle(e), clear = (e) => style(e).backgroundColor === 'rgba(0, 0, 0, 0)';
  const bad = { cell: (e) => !['left', 'start'].includes(style(e).textAlign), tr: (e) => !clear(e),
    code: (e) => !clear(e), heading: (e) => Number(style(e).fontWeight) < 600 };
  const all = { cell: 'td, th', tr: 'tr', code: 'code, pre', heading: 'h2, h3' };
  return Object.keys(all).flatMap((kind) => [...view.querySelectorAll(all[kind])].filter(bad[kind])
    .map((e) => `${kind}: ${e.textContent.slice(0, 40)}`));
}"""


FILL = """(source) => {
  const [cell] = jupyterapp.shell.currentWidget.content.widgets;
  cell.model.sharedModel.setSource(source);
  cell.outputArea.model.clear();
}"""


def fill(page: Any, source: str) -> None:
    """Replace the source of the only cell, and take its output away."""
    page.evaluate(FILL, source)
    page.wait_for_function("() => !document.querySelector('.jp-OutputArea .mx')")


def command(page: Any, name: str, seconds: float = 60, **arguments: Any) -> None:
    """One of JupyterLab's commands, which has to end in so many seconds."""
    script = "async ([n, a]) => { await jupyterapp.commands.execute(n, a) }"
    within(page, script, [name, arguments], seconds)


def restart(page: Any) -> None:
    """A new kernel, which knows nothing of the notebook's views."""
    within(
        page,
        "async () => { await jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart() }",
    )
