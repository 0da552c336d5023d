"""Grading: stored outputs are read, or answers are run in the course's own notebook."""

from __future__ import annotations

import csv
import importlib
from pathlib import Path
from types import ModuleType

import pytest

nbformat = pytest.importorskip("nbformat", reason="pip install '.[lab]' to grade notebooks")
pytest.importorskip("nbclient", reason="pip install '.[lab]' to grade notebooks")
new = nbformat.v4
NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
CHECK = """def check(answer):
    right = answer == 4
    print("✔ answer: correct." if right else f"✘ answer, not yet: it is {answer}, expected 4.")"""


@pytest.fixture
def grade(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module, with a course of one notebook of two exercises."""
    monkeypatch.syspath_prepend(str(NOTEBOOKS))
    module = importlib.import_module("grade")
    monkeypatch.setattr(module, "HERE", tmp_path / "course")
    module.HERE.mkdir()
    write(module.HERE / "03_sums.ipynb", ("check(0)", "check(1)"))
    return module


def write(
    path: Path, answers: tuple[str, ...], outputs: tuple[str, ...] = (), check: str = CHECK
) -> Path:
    cells = [new.new_markdown_cell("# Sums"), new.new_code_cell(check)]
    for i, source in enumerate(answers):
        cells.append(new.new_markdown_cell(f"Some text.\n\n## Exercise {i + 1}: number {i}"))
        cell = new.new_code_cell(source, id=f"answer-{i}", metadata={"tags": ["exercise"]})
        if i < len(outputs):
            cell.outputs = [new.new_output("stream", name="stdout", text=outputs[i])]
        cells.append(cell)
    nbformat.write(new.new_notebook(cells=cells), path)
    return path


def test_points_are_read_from_outputs(grade: ModuleType, tmp_path: Path) -> None:
    messages = ("✔ answer: correct.\n", "✘ answer, not yet: it is 1, expected 4.\n")
    path = write(tmp_path / "03_sums_alice.ipynb", ("check(4)", "check(1)"), messages)
    assert grade.grade(path) == [
        ("number 0", 1, "answer: correct."),
        ("number 1", 0, "answer, not yet: it is 1, expected 4."),
    ]


def test_a_partly_failed_exercise_earns_no_point(grade: ModuleType, tmp_path: Path) -> None:
    path = write(
        tmp_path / "03_a.ipynb", ("check(4)",), ("✔ one: correct.\n✘ two, not yet: no.\n",)
    )
    assert [each.points for each in grade.grade(path)] == [0, 0]


def test_cells_that_are_missing_or_were_not_run_give_no_point(
    grade: ModuleType, tmp_path: Path
) -> None:
    first, second = grade.grade(write(tmp_path / "03_a.ipynb", ("check(4)",)))
    assert (first.points, first.message) == (0, "not run, or its check was removed")
    assert (second.points, second.message) == (0, "the cell is missing")


def test_an_error_is_reported(grade: ModuleType, tmp_path: Path) -> None:
    path = write(tmp_path / "03_a.ipynb", ("check(4)",))
    notebook = nbformat.read(path, 4)
    notebook.cells[3].outputs = [
        new.new_output("error", ename="NameError", evalue="x", traceback=[])
    ]
    nbformat.write(notebook, path)
    assert grade.grade(path)[0].message == "NameError: x"


def test_running_ignores_stored_outputs_edited_checks_and_prints(
    grade: ModuleType, tmp_path: Path
) -> None:
    always = "def check(answer):\n    print('✔ answer: correct.')"
    messages = ("✔ answer: correct.\n",) * 2
    write(grade.HERE / "03_sums.ipynb", ("x = 0\ncheck(x)", "y = 0\nif True:\n    check(y)"))
    path = write(tmp_path / "03_bob.ipynb", ("x = 1 / 0", "y = 2 + 2"), messages, always)
    assert [each.points for each in grade.grade(path)] == [1, 1]
    first, second = grade.grade(path, run=True)
    assert (first.points, first.message) == (0, "NameError: name 'x' is not defined")
    assert second.points == 1
    printing = "x = 3\nprint('✔ answer: correct.')"
    path = write(tmp_path / "03_bob.ipynb", (printing, "y = 4\ncheck(y)"), messages, always)
    assert [each.points for each in grade.grade(path, run=True)] == [0, 1]


def test_every_exercise_calls_its_check(grade: ModuleType) -> None:
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        for cell in nbformat.read(path, 4).cells:
            if grade.is_exercise(cell):
                assert grade.check_calls(cell.source).startswith(("check_", "with ")), cell.source


def test_the_command_writes_a_table(
    grade: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "03_a.ipynb", ("check(4)", ""), ("✔ answer: correct.\n",))
    table = tmp_path / "points.csv"
    assert grade.main([str(path), "--csv", str(table)]) == 0
    assert "03_a.ipynb: 1 of 2 points" in capsys.readouterr().out
    rows = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
    assert [row["points"] for row in rows] == ["1", "0"]
    assert rows[0]["exercise"] == "number 0" and rows[0]["notebook"] == str(path)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("sums.ipynb", None, "Keep the beginning of its name"),
        ("98_sums.ipynb", None, "no notebook of this number"),
        ("03_sums.ipynb", "{", "expected a notebook"),
        ("03_gone.ipynb", "", "03_gone"),
    ],
)
def test_notebooks_that_cannot_be_graded_are_reported(
    grade: ModuleType,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    text: str | None,
    message: str,
) -> None:
    path = tmp_path / name
    if text is None:
        write(path, ("check(4)",))
    elif text:
        path.write_text(text)
    assert grade.main([str(path)]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_every_notebook_has_three_exercises_with_distinct_titles(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(NOTEBOOKS))
    results = importlib.import_module("grade").grade(path)
    names = {each.exercise for each in results}
    assert len(results) >= 3 and len(names) == len(results)
    # The stored notebooks have no answers.
    assert all(each.points == 0 and "not yet" in each.message for each in results)
