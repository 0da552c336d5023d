"""Execute a notebook headless, with a line of progress per cell; write notebook and HTML page.

Usage: python notebooks/run.py NOTEBOOK [--out FOLDER]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbconvert import HTMLExporter


class ProgressClient(NotebookClient):
    """Prints a line for every code cell."""

    count = 0
    total = 0
    started = 0.0

    async def async_execute_cell(self, cell: Any, cell_index: int, **kwargs: Any) -> Any:
        """Execute one cell and say how far it is."""
        if cell.cell_type == "code":
            self.count += 1
            first = next((line for line in cell.source.splitlines() if line.strip()), "")
            elapsed = time.monotonic() - self.started
            print(f"[{self.count}/{self.total}] {elapsed:6.1f} s  {first[:70]}", flush=True)
        return await super().async_execute_cell(cell, cell_index, **kwargs)


def run(path: Path, out: Path) -> tuple[Path, Path]:
    """Execute the notebook; returns the paths of the executed notebook and the page.

    Raises:
        CellExecutionError: a cell failed; nothing is written.
    """
    notebook = nbformat.read(path, as_version=4)
    client = ProgressClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        coalesce_streams=True,  # a progress bar is one line in the page, not a hundred
        resources={"metadata": {"path": path.parent}},
    )
    client.total = sum(cell.cell_type == "code" for cell in notebook.cells)
    client.started = time.monotonic()
    client.execute()
    page, _ = HTMLExporter().from_notebook_node(notebook)
    out.mkdir(parents=True, exist_ok=True)
    executed, html = out / path.name, out / path.with_suffix(".html").name
    write_whole(executed, nbformat.writes(notebook))
    write_whole(html, page)
    return executed, html


def write_whole(path: Path, text: str) -> None:
    """Write a file under another name, then rename it."""
    temporary = path.with_name(f".{path.name}.part")
    temporary.write_text(text)
    os.replace(temporary, path)


def main(arguments: list[str] | None = None) -> int:
    """The command line; 0 if every cell ran."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("notebook", type=Path)
    parser.add_argument("--out", type=Path, default=Path("build/tour"))
    given = parser.parse_args(arguments)
    if not given.notebook.is_file():
        print(f"There is no notebook {given.notebook}.", file=sys.stderr)
        return 2
    start = time.monotonic()
    try:
        executed, html = run(given.notebook.resolve(), given.out)
    except CellExecutionError as error:
        print(f"\nA cell of {given.notebook} failed:\n{error}", file=sys.stderr)
        return 1
    print(f"ran {given.notebook} in {time.monotonic() - start:.0f} s")
    print(f"executed notebook: {executed}")
    print(f"page:              {html}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
