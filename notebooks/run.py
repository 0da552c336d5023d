"""Execute notebooks headless, with a line of progress per cell.

Usage: python notebooks/run.py NOTEBOOK... | --all  [--out FOLDER | --freeze]

By default the executed notebook and a page are written to a folder; the page needs no kernel and
no network. With ``--freeze`` each notebook is replaced by the executed one, its figures kept and
its live widgets taken out: the form in which they are stored.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

import nbformat
from course import LIVE
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from mixnet.base import AttributeValueError
from mixnet.widgets.freeze import freeze, notebook_page, read

HERE = Path(__file__).resolve().parent


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


def execute(path: Path) -> Any:
    """The notebook, executed in a kernel of its own, in its own folder.

    Raises:
        CellExecutionError: a cell failed.
    """
    return execute_cells(read(path), path.parent)


def execute_cells(notebook: Any, folder: Path, allow_errors: bool = False) -> Any:
    """A notebook that was read, executed in a kernel of its own.

    Args:
        notebook: it is changed: its outputs are replaced.
        folder: where its code runs.
        allow_errors: go on after a cell that fails.

    Raises:
        CellExecutionError: a cell failed, and errors are not allowed.
    """
    client = ProgressClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        allow_errors=allow_errors,
        coalesce_streams=True,  # a progress bar is one line in the page, not a hundred
        record_timing=False,
        # A kernel warns of its own transport, which is local here.
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": folder}},
    )
    client.total = sum(cell.cell_type == "code" for cell in notebook.cells)
    client.started = time.monotonic()
    client.execute()
    # The version of this machine's Python is nobody's business.
    notebook.metadata["language_info"] = {"name": "python"}
    return notebook


def write(notebook: Any, path: Path, out: Path | None) -> list[Path]:
    """Write an executed notebook: frozen in its place, or with a page to the folder ``out``."""
    if out is None:
        without_live(notebook)
        write_whole(path, nbformat.writes(freeze(notebook)) + "\n")
        return [path]
    out.mkdir(parents=True, exist_ok=True)
    executed, html = out / path.name, out / path.with_suffix(".html").name
    write_whole(executed, nbformat.writes(notebook) + "\n")
    write_whole(html, notebook_page(notebook))
    return [executed, html]


def without_live(notebook: Any) -> None:
    """Take out outputs that ``course`` marks as live: whole pages, which are larger than a
    notebook may be.
    """
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [each for each in cell.outputs if not each.get("metadata", {}).get(LIVE)]


def write_whole(path: Path, text: str) -> None:
    """Write a file under another name, then rename it."""
    temporary = path.with_name(f".{path.name}.part")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)


def main(arguments: list[str] | None = None) -> int:
    """The command line; 0 if every cell of every notebook ran."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("notebook", type=Path, nargs="*")
    parser.add_argument("--all", action="store_true", help="all notebooks of the course")
    parser.add_argument("--out", type=Path, default=Path("build/notebooks"))
    parser.add_argument(
        "--freeze", action="store_true", help="replace each notebook by the executed one"
    )
    given = parser.parse_args(arguments)
    paths = sorted(HERE.glob("[0-9][0-9]_*.ipynb")) if given.all else given.notebook
    if not paths:
        parser.error("name a notebook, or --all")
    failed = 0
    for path in paths:
        start = time.monotonic()
        try:
            notebook = execute(path.resolve())
        except CellExecutionError as error:
            print(f"\nA cell of {path} failed:\n{error}", file=sys.stderr)
            failed = 1
            continue
        except (OSError, AttributeValueError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            failed = 2
            continue
        written = write(notebook, path, None if given.freeze else given.out)
        print(f"ran {path} in {time.monotonic() - start:.0f} s: {', '.join(map(str, written))}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
