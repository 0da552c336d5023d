"""The Python on the pages runs."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import mixnet as mx
from tests import isolation, processes
from tests.docs.run_blocks import blocks

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
# Pages that need a package which may be left out.
NEEDS = {"onnx.md": "onnxruntime", "other-languages.md": "onnx"}
# After all others: mixed precision stays on for the rest of the process.
LAST = "mixed-precision.md"
PAGES = [
    ROOT / "README.md",
    DOCS / "start.md",
    *sorted(
        [*DOCS.glob("howto/*.md"), *DOCS.glob("concepts/*.md")], key=lambda page: page.name == LAST
    ),
]
RUN = [
    page
    for page in PAGES
    if blocks(page.read_text(encoding="utf-8"))
    and importlib.util.find_spec(NEEDS.get(page.name, "mixnet")) is not None
]


def write_records(path: Path) -> None:
    """Four pictures of one colour each: the file that the page on iterators reads."""
    writer = mx.recordio.MXRecordIO(str(path), "w")
    for label in range(4):
        pixels = np.full((240, 240, 3), 40 * label, np.uint8)
        writer.write(mx.recordio.pack_img((0, float(label), label, 0), pixels))
    writer.close()


@pytest.fixture(scope="module")
def failures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What failed, by page; in a process of its own, since pages register operators."""
    folder = tmp_path_factory.mktemp("pages")
    write_records(folder / "train.rec")
    isolation.restore_library_path()
    process = processes.run(
        [sys.executable, str(Path(__file__).parent / "run_blocks.py"), *map(str, RUN)],
        cwd=folder,
        env={
            **os.environ,
            "MIXNET_CPU_DEVICES": "4",
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout.splitlines()[-1])


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.stem)
def test_the_python_of_a_page_runs(page: Path, failures: dict[str, str]) -> None:
    assert failures[str(page)] == ""


def test_a_quotation_has_the_lines_of_its_file(tmp_path: Path) -> None:
    from tests.docs.run_blocks import run

    page = tmp_path / "page.md"
    last = "ROOT = Path(__file__).parents[2]"
    quotation = f"```python\n# From tests/docs/test_blocks.py\n{{}}\n...\n{last}\n```\n"
    page.write_text(quotation.format('"""The Python on the pages runs."""'))
    assert run(page) == ""
    page.write_text(quotation.format("DOCS = 3"))
    assert "'DOCS = 3' is not in tests/docs/test_blocks.py" in run(page)


def test_a_failing_block_is_reported_with_its_line(tmp_path: Path) -> None:
    from tests.docs.run_blocks import run

    page = tmp_path / "page.md"
    page.write_text("# Page\n\n```python\nx = 1\n```\n\n```python\nassert x == 2\n```\n")
    assert 'page.md", line 8' in run(page)
