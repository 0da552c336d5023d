"""Every notebook of the course runs from top to bottom, teaches in the same form, and is stored frozen."""

from __future__ import annotations

import html
import importlib
import importlib.util
import itertools
import json
import os
import re
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

nbformat = pytest.importorskip("nbformat", reason="pip install '.[lab]' to run notebooks")
if importlib.util.find_spec("sklearn") is None:
    pytest.skip("pip install '.[lab]' to run notebooks", allow_module_level=True)

from mixnet.widgets import page  # noqa: E402
from tests import compilation, kernels, processes  # noqa: E402
from tests.export.engine import run_pages  # noqa: E402

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
LIVE = "application/vnd.jupyter.widget-view+json"
# What a stored output must not say: a folder of a machine, a warning, an error.
MACHINE = re.compile(
    r"(?<![\w.])/(tmp|home|root|work|usr|opt|Users)/|ipykernel_\d|Warning:|Traceback"
)

every = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
# They start first, so that no worker still runs one when the others have finished.
LONGEST = (18, 26, 0, 12)


def _start(path: Path) -> tuple[int, int]:
    number = int(path.name[:2])
    return LONGEST.index(number) if number in LONGEST else len(LONGEST), number


# Two workers run them: each imports what kernels import once, which takes two seconds.
longest_first = pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=pytest.mark.xdist_group(f"lessons-{number % 2}"), id=path.stem)
        for number, path in enumerate(sorted(NOTEBOOKS, key=_start))
    ],
)


def load(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def tags(cell: Any) -> list[str]:
    return cell.metadata.get("tags", [])


def text_of(cell: Any) -> str:
    """All that the outputs of a cell say in text, the data of views too."""
    parts: list[str] = []
    for output in cell.get("outputs", []):
        parts.append(output.get("text", ""))
        for kind, data in output.get("data", {}).items():
            if kind.startswith("text/"):
                packed = re.findall(r'application/x-mixnet">([^<]+)<', data)
                parts += [str(page.unpack(each)) for each in packed]
                parts.append(re.sub(r"base64,[\w+/=]+|x-mixnet\">[^<]+", "", data))
    return "\n".join(parts)


def test_notebooks_are_numbered() -> None:
    numbers = [int(path.name[:2]) for path in NOTEBOOKS]
    assert numbers == list(range(len(numbers)))
    assert all(re.fullmatch(r"\d\d_[a-z_]+", path.stem) for path in NOTEBOOKS)


def test_the_tour_the_guide_and_the_lessons_agree_on_the_order_of_reading() -> None:
    names = [path.name for path in NOTEBOOKS]
    listed = re.findall(r"^\| \[\w+\]\((\w+\.ipynb)\)", load(NOTEBOOKS[0]).cells[-1].source, re.M)
    order = [names[0], *listed]
    assert sorted(order) == names
    guide = (FOLDER.parent / "docs" / "teach.md").read_text(encoding="utf-8")
    assert re.findall(r"^### \[.+\]\(\.\./notebooks/(\w+\.ipynb)\)$", guide, re.M) == order
    for name, after in itertools.pairwise(order[1:]):
        last = load(FOLDER / name).cells[-1].source
        assert f"**Next:** [{after}]({after})" in last, name


@every
def test_a_notebook_is_stored_frozen(path: Path) -> None:
    notebook = load(path)
    assert path.stat().st_size < 330_000
    assert "widgets" not in notebook.metadata
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)
    ran = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in ran), "run it with --freeze"
    assert [cell.execution_count for cell in ran] == list(range(1, len(ran) + 1))
    for cell in ran:
        for output in cell.outputs:
            assert output.output_type != "error", cell.source
            assert output.get("name") != "stderr", cell.source
            assert LIVE not in output.get("data", {}), cell.source
            assert not output.get("metadata", {}).get("live"), "run it with --freeze"
        assert not MACHINE.search(text_of(cell)), cell.source


@every
def test_a_notebook_teaches_in_the_common_form(path: Path) -> None:
    cells = load(path).cells
    first, last = cells[0], cells[-1]
    assert first.cell_type == last.cell_type == "markdown"
    assert first.source.startswith("# ")
    texts = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    assert "**Question" in texts
    assert "notebooks/" in last.source or ".ipynb" in last.source or "mixnet/" in last.source
    named = re.findall(r"`(mixnet/[\w/]+\.(?:py|js)|docs/[\w/-]+\.md)`", texts)
    missing = [name for name in named if not (FOLDER.parent / name).exists()]
    assert not missing
    exercises = [cell for cell in cells if "exercise" in tags(cell)]
    solutions = [cell for cell in cells if "solution" in tags(cell)]
    assert len(exercises) >= 3 and len(solutions) == len(exercises)
    assert all(cell.metadata.get("jupyter", {}).get("source_hidden") for cell in solutions)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module ``notebooks/run.py``, whose imports cost more than some notebooks: all tests share it."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("run")


# Training that shows a reader a curve: the code is the same for fewer steps. No cell, picture or check is
# left out; what the full lengths lead to is in the stored notebooks, which ``test_claims.py`` reads.
EPOCH = ("range(0, len(order) - batch + 1, batch)", "range(0, 3 * batch, batch)")
SHORTER: dict[str, tuple[tuple[str, str], ...]] = {
    "00_tour": (
        ("epochs, batch = 14, 32", "epochs, batch = 8, 32"),  # 98 % of the digits are read then
        ("for turn in range(30):", "for turn in range(8):"),
    ),
    "09_lenet_and_resnet": (EPOCH,),
    "10_sequence_models": (
        ("for epoch in range(8):", "for epoch in range(2):"),
        ("range(1, 9), perplexities", "range(1, 3), perplexities"),
        ("range(0, each - steps + 1, steps)", "range(0, 8 * steps, steps)"),
    ),
    "11_attention": (("epochs=14", "epochs=4"),),
    "12_data_pipelines": (
        ("for epoch in range(10):", "for epoch in range(2):"),
        ("for _ in range(4))", "for _ in range(2))"),
        ("def one_after_another(batches=8)", "def one_after_another(batches=4)"),
        ("def ahead(batches=8,", "def ahead(batches=4,"),
    ),
    "13_debugging": (("for _ in range(10):  # the first", "for _ in range(3):  # the first"),),
    "14_mixed_precision": (EPOCH,),
    "15_several_devices": (("epochs=12", "epochs=3"),),
    "16_exporting": (("range(25)", "range(8)"),),
    "18_many_machines": (
        ("in batches(5, store.rank, store.num_workers):\n        found",
         "in batches(3, store.rank, store.num_workers):\n        found"),
        ("enumerate(batches(5,", "enumerate(batches(3,"), ('space["batches"](5,', 'space["batches"](3,'),
        ("workers=(1, 2, 3), steps=4, repeats=5", "workers=(1, 2), steps=4, repeats=2"),
        ('wide.add(nn.Dense(1024, activation="relu"), nn.Dense(1024,',
         'wide.add(nn.Dense(128, activation="relu"), nn.Dense(128,'),
    ),
    "19_gluon": (
        ("epochs=12", "epochs=2"), ("epochs=6", "epochs=2"), ("range(1, 7), curve", "range(1, 3), curve"),
    ),
    "20_optimizers": (EPOCH,),
    "21_overfitting": (("epochs=60", "epochs=12"),),
    "22_control_flow": (
        ("nn.Dense(10), epochs=12,", "nn.Dense(10), epochs=3,"), ("large, epochs=8)", "large, epochs=1)"),
    ),
    "23_generative": (EPOCH, ("range(400)", "range(40)")),
    "24_fine_tuning": (
        ("epochs=10, rate=3e-3", "epochs=3, rate=3e-3"), ("epochs=80, rate=0.01", "epochs=8, rate=0.01"),
    ),
    "25_sparse": (("epochs=5", "epochs=2"),),
    "26_transformer": (
        ("steps=300", "steps=25"), ("stories[800:1000]", "stories[800:880]"),
        ("write(net, 100,", "write(net, 20,"), ("{finish(each, test_ids)", "{finish(each, test_ids[:8])"),
    ),
}  # fmt: skip


# These run for longer than optimizing their programs takes, or start processes, which are forked only in the
# usual environment.
OPTIMIZED = ("00_tour", "11_attention", "18_many_machines", "26_transformer")


def shortened(path: Path) -> Any:
    """The notebook with shorter training; as it is with MIXNET_TEST_COURSE."""
    notebook = load(path)
    if os.environ.get("MIXNET_TEST_COURSE"):
        return notebook
    for long, short in SHORTER.get(path.stem, ()):
        (cell,) = [each for each in notebook.cells if long in each.source]
        assert cell.cell_type == "code" and cell.source.count(long) == 1, long
        cell.source = cell.source.replace(long, short)
    return notebook


@pytest.fixture
def forked_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels need not import what all of them import."""
    monkeypatch.setattr("jupyter_client.launcher.Popen", kernels.Kernel)
    for name, value in kernels.variables().items():
        monkeypatch.setenv(name, value)
    kernels.start_server()


@longest_first
@pytest.mark.usefixtures("no_running_loop", "forked_kernels")
def test_a_notebook_runs(
    path: Path, run: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each in a kernel of its own: only what reads the notebook and writes the page is shared."""
    flags = compilation.xla_flags()
    if flags and path.stem not in OPTIMIZED:
        monkeypatch.setenv("XLA_FLAGS", flags)
    run.write(run.execute_cells(shortened(path), FOLDER), path, tmp_path)
    checked = 0
    for cell in load(tmp_path / path.name).cells:
        if cell.cell_type != "code":
            continue
        assert not any(output.output_type == "error" for output in cell.outputs), cell.source
        if "solution" in tags(cell):
            checked += 1
            assert "correct." in text_of(cell) and "not yet" not in text_of(cell), text_of(cell)
    assert checked
    assert (tmp_path / f"{path.stem}.html").exists()
    if path.stem == "00_tour":
        the_page_predicts(load(tmp_path / path.name), tmp_path)


def test_the_command_runs_notebooks_and_names_the_cell_that_fails(tmp_path: Path) -> None:
    """The process of ``run.py`` itself, with two notebooks of which one fails."""
    new = nbformat.v4
    for name, source in (("good", "print(6 * 7)"), ("bad", "1 / 0")):
        cells = [new.new_code_cell(source)]
        nbformat.write(new.new_notebook(cells=cells), tmp_path / f"{name}.ipynb")
    paths = [str(tmp_path / f"{name}.ipynb") for name in ("bad", "good")]
    out = tmp_path / "out"
    command = [sys.executable, str(FOLDER / "run.py"), *paths, "--out", str(out)]
    process = processes.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert process.returncode == 1, process.stdout + process.stderr
    assert f"A cell of {paths[0]} failed:" in process.stderr
    assert "ZeroDivisionError" in process.stderr
    assert "[1/1]" in process.stdout and f"ran {paths[1]} in" in process.stdout
    assert sorted(each.name for each in out.iterdir()) == ["good.html", "good.ipynb"]
    (cell,) = load(out / "good.ipynb").cells
    assert cell.outputs[0].text == "42\n"
    assert "42" in (out / "good.html").read_text(encoding="utf-8")


def the_page_predicts(tour: Any, folder: Path) -> None:
    """The page in the executed tour reads its examples as the titles beside it say."""
    (cell,) = [
        each for each in tour.cells if "export_page" in each.source and each.cell_type == "code"
    ]
    (frame,) = [each for each in cell.outputs if each.get("metadata", {}).get("live")]
    (text,) = re.findall(r'srcdoc="([^"]*)"', frame.data["text/html"])
    page_file = folder / "digits.html"
    page_file.write_text(html.unescape(text), encoding="utf-8")
    assert page_file.stat().st_size < 500_000
    data = json.loads(re.findall(r'id="data">([^<]*)<', page_file.read_text(encoding="utf-8"))[0])
    assert len(data["examples"]) == 8
    if shutil.which("node") is None:
        return  # the engine runs in tests/export
    examples = [np.array(each) for each in data["examples"]]
    scores = run_pages([str(page_file)] * len(examples), examples)
    (titles,) = [each for each in cell.outputs if "image/jpeg" in each.get("data", {})]
    assert titles.metadata["image/jpeg"]["alt"] == ", ".join(str(each.argmax()) for each in scores)
