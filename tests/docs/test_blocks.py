"""The Python on the pages runs."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.run_blocks import blocks

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
# Blocks that are parts of something, not programs.
PARTS = {
    "data.md": "needs a picture in a file",
    "engine.md": "shows where a loop would stand",
    "io.md": "needs a record file",
    "kvstore.md": "sets the number of devices, before anything else runs",
    "layout.md": "a graph is at hand",
    "memory.md": "a network is at hand",
    "metric.md": "batches are at hand",
    "mixed-precision.md": "a network is at hand",
    "module.md": "a session at the prompt",
    "operators.md": "declares an operator that there is",
    "optimizer.md": "shows a rule in part",
    "passes.md": "a graph is at hand",
    "profiler.md": "a network is at hand",
    "stages.md": "its imports are left out",
    "live-memory.md": "a network is at hand",
    "training-board.md": "a network and its trainer are at hand",
}
# Pages that need a package which may be left out.
NEEDS = {"onnx.md": "onnxruntime", "other-languages.md": "onnx"}
PAGES = [
    ROOT / "README.md",
    DOCS / "start.md",
    *sorted([*DOCS.glob("howto/*.md"), *DOCS.glob("concepts/*.md")]),
]
RUN = [
    page
    for page in PAGES
    if page.name not in PARTS
    and blocks(page.read_text(encoding="utf-8"))
    and importlib.util.find_spec(NEEDS.get(page.name, "mixnet")) is not None
]


@pytest.fixture(scope="module")
def failures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What failed, by page; in a process of its own, since pages register operators."""
    found = subprocess.run(
        [sys.executable, str(Path(__file__).parent / "run_blocks.py"), *map(str, RUN)],
        cwd=tmp_path_factory.mktemp("pages"),
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout.splitlines()[-1])


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.stem)
def test_the_python_of_a_page_runs(page: Path, failures: dict[str, str]) -> None:
    assert failures[str(page)] == ""


def test_pages_that_are_not_run_still_have_blocks() -> None:
    with_blocks = {page.name for page in PAGES if blocks(page.read_text(encoding="utf-8"))}
    assert set(PARTS) <= with_blocks


def test_a_block_that_fails_is_told_with_its_line(tmp_path: Path) -> None:
    from tests.docs.run_blocks import run

    page = tmp_path / "page.md"
    page.write_text("# Page\n\n```python\nx = 1\n```\n\n```python\nassert x == 2\n```\n")
    assert 'page.md", line 8' in run(page)
