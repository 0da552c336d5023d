"""What lessons say of their figures is what the stored figures show."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import mixnet as mx

nbformat = pytest.importorskip("nbformat", reason="pip install '.[lab]' to read notebooks")
FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def cells(stem: str) -> list[Any]:
    return list(nbformat.read(FOLDER / f"{stem}.ipynb", as_version=4).cells)


def printed(cell: Any) -> str:
    """The text of a cell's outputs."""
    parts = [each.get("text") or each.get("data", {}).get("text/plain", "") for each in cell.get("outputs", [])]  # fmt: skip
    return "\n".join(parts)


def the(stem: str, words: str) -> Any:
    """The only cell of a notebook with these words in its source."""
    (found,) = [cell for cell in cells(stem) if words in cell.source]
    return found


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_training_graphs_show_their_gradients(path: Path) -> None:
    for cell in cells(path.stem):
        if cell.cell_type == "code" and re.search(r"^GraphView\(.*train=True", cell.source, re.M):
            assert "forward and backward" in printed(cell), cell.source


def test_lesson_6_says_the_lower_bound_that_the_plan_prints() -> None:
    text = the("06_memory_planning", "That is the **lower bound**").source
    (said,) = re.findall(r"needs most: (\S+ MB)", text)
    plan = next(cell for cell in cells("06_memory_planning") if "at least" in printed(cell))
    assert f"at least {said}" in printed(plan)


def test_lesson_6_counts_the_peak_as_the_view_does() -> None:
    (said,) = re.findall(r"at most (\S+) MB", printed(the("06_memory_planning", "at most {log.peak()")))  # fmt: skip
    view = next(cell for cell in cells("06_memory_planning") if "live memory" in printed(cell))
    (shown,) = re.findall(r"peak (\S+) MB", printed(view))
    assert float(said) == pytest.approx(float(shown), rel=0.01)


def test_lesson_8_says_that_networks_are_nearly_chains() -> None:
    shown = printed(the("08_graph_passes", "{count / deep:.2f} side by side"))
    ratios = [float(each) for each in re.findall(r"(\S+) side by side", shown)]
    assert len(ratios) == 5 and max(ratios) < 1.5 and min(ratios) == 1


def test_lesson_12_measures_what_it_says() -> None:
    shown = printed(the("12_data_pipelines", "both at once take"))
    assert re.search(r"both at once take \d+% of the time", shown)


def test_lesson_17_knows_the_defaults() -> None:
    text = the("17_from_other_frameworks", "Gluon's `BatchNorm` adds").source
    assert "adds 1e-5 by default" in text and "`mx.sym.BatchNorm` adds 1e-3" in text
    assert mx.gluon.nn.BatchNorm()._kwargs["eps"] == 1e-5
    data = mx.nd.array([[-1.0], [1.0]])
    one, zero = mx.nd.ones(1), mx.nd.zeros(1)
    with mx.autograd.train_mode():
        out = mx.nd.BatchNorm(data, one, zero, zero, one, fix_gamma=False)
    assert float(out[1].asscalar()) == pytest.approx(1 / (1 + 1e-3) ** 0.5, rel=1e-6)


def test_lesson_18_gets_the_same_weights_in_all_ways() -> None:
    for words in ("largest difference:", "the run that nobody killed"):
        *_, last = printed(the("18_many_machines", words)).split()
        assert 0 <= float(last) < 1e-5, words
    assert printed(the("18_many_machines", "goes_on =")).count("begins at step 20") == 2


def test_lesson_18_says_what_the_model_says_of_ten_machines() -> None:
    text = the("18_many_machines", "## Ten machines, in 2015").source
    (paper,) = re.findall(r"(\S+) seconds for a pass", text)
    expected = float(paper.replace(",", ""))
    after = next(
        cell for cell in cells("18_many_machines") if "The model says" in cell.source
    ).source
    (said,) = re.findall(r"The model says (\S+) seconds", after)
    predicted = 1_281_167 / mx.widgets.ScalingView.ten_machines().predict(10)
    assert float(said.replace(",", "")) == pytest.approx(predicted, abs=5)
    assert expected == 1400 < predicted
