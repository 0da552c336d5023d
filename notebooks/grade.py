"""Grade notebooks of the course: a point for each exercise whose check says "correct".

Usage: python notebooks/grade.py NOTEBOOK... [--run] [--csv FILE]

By default the stored outputs are read; the notebooks must have been run and saved. With
``--run`` the answers are put into the course's own copy of the notebook, which is then executed:
checks that were edited, and outputs that were typed in or printed, do not count. That runs other
people's code, so do it in a container.
"""

from __future__ import annotations

import argparse
import ast
import csv
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

import nbformat

from mixnet.base import AttributeValueError, MXNetError
from mixnet.widgets.freeze import read

HERE = Path(__file__).resolve().parent
RIGHT, WRONG = "✔", "✘"


class GradingError(MXNetError):
    """A notebook cannot be graded; the text says why."""


class Result(NamedTuple):
    """An exercise: its title, 0 or 1 point, and what the check said."""

    exercise: str
    points: int
    message: str


def is_exercise(cell: Any) -> bool:
    """Whether a cell is one that students fill in."""
    return "exercise" in cell.metadata.get("tags", [])


def titles(notebook: Any) -> dict[str, str]:
    """The exercises of a notebook: cell id to the heading above it, in order."""
    heading, found = "", {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            headings = re.findall(r"^#+ +(.+)$", cell.source, re.MULTILINE)
            heading = headings[-1] if headings else heading
        elif is_exercise(cell):
            found[cell.id] = re.sub(r"^Exercise( \d+)?: ", "", heading)
    return found


def course_notebook(submission: Path) -> Any:
    """The course's notebook with the number that a submission's name begins with.

    Raises:
        GradingError: the name has no number, or the course has no such notebook.
    """
    number = re.match(r"\d\d(?=_)", submission.name)
    paths = sorted(HERE.glob(f"{number[0]}_*.ipynb")) if number else []
    if not paths:
        raise GradingError(
            f"{submission}: the course has no notebook of this number. Keep the beginning of "
            "its name, as in 03_autograd_alice.ipynb"
        )
    return read(paths[0])


def check_calls(source: str) -> str:
    """The statements of a cell that call a check: a function whose name begins with ``check``."""
    statements = [
        statement
        for statement in ast.parse(source).body
        if not isinstance(statement, ast.FunctionDef | ast.ClassDef)
        and any(
            isinstance(each, ast.Call)
            and isinstance(each.func, ast.Name)
            and each.func.id.startswith("check")
            for each in ast.walk(statement)
        )
    ]
    return "\n".join(map(ast.unparse, statements))


def with_answers(notebook: Any, submission: Any) -> Any:
    """The course's notebook with the answers of a submission, ready to run.

    The check is called once more, in a cell of its own that takes over the exercise's id, so
    that what an answer prints gives no point.
    """
    answers = {cell.id: cell.source for cell in submission.cells}
    cells = []
    for cell in notebook.cells:
        if is_exercise(cell):
            answer = nbformat.v4.new_code_cell(answers.get(cell.id, ""), id=f"{cell.id}-by-student")
            cells.append(answer)
            cell.source = check_calls(cell.source)
        cells.append(cell)
    notebook.cells = cells
    return notebook


def result(title: str, cell: Any | None) -> Result:
    """What the outputs of an exercise's cell say."""
    if cell is None:
        return Result(title, 0, "the cell is missing")
    printed = "\n".join(each.get("text", "") for each in cell.get("outputs", []))
    lines = [line for line in printed.splitlines() if line.startswith((RIGHT, WRONG))]
    errors = [each for each in cell.get("outputs", []) if each.output_type == "error"]
    if errors:
        return Result(title, 0, f"{errors[0].ename}: {errors[0].evalue}")
    if not lines:
        return Result(title, 0, "not run, or its check was removed")
    failed = [line for line in lines if line.startswith(WRONG)]
    return Result(title, 0, failed[0][2:]) if failed else Result(title, 1, lines[-1][2:])


def grade(path: Path, run: bool = False) -> list[Result]:
    """The results of all exercises that the course's notebook has, in order.

    Args:
        path: an executed notebook, or any with answers if it is run.
        run: execute its answers in the course's own notebook.

    Raises:
        GradingError: the course has no notebook of that number.
        OSError, AttributeValueError: the file cannot be read, or is no notebook.
    """
    submission = read(path)
    original = course_notebook(path)
    exercises = titles(original)
    if run:
        from run import execute_cells

        submission = execute_cells(with_answers(original, submission), HERE, allow_errors=True)
    cells = {cell.id: cell for cell in submission.cells}
    return [result(title, cells.get(each)) for each, title in exercises.items()]


def report(path: Path, results: list[Result]) -> str:
    """The points of a notebook as text, with a line for each exercise."""
    lines = [f"{path}: {sum(each.points for each in results)} of {len(results)} points"]
    for each in results:
        lines.append(f"  {RIGHT if each.points else WRONG} {each.exercise}: {each.message}")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """The command line; 0 if every notebook could be graded."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("notebook", type=Path, nargs="+")
    parser.add_argument(
        "--run", action="store_true", help="run the answers in the course's notebook"
    )
    parser.add_argument("--csv", type=Path, help="also write a row for each exercise to this file")
    options = parser.parse_args(arguments)
    rows, failed = [], 0
    for path in options.notebook:
        try:
            results = grade(path, options.run)
        except (OSError, AttributeValueError, GradingError, nbformat.ValidationError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            failed = 2
            continue
        print(report(path, results), flush=True)
        rows += [(str(path), *each) for each in results]
    if options.csv:
        with options.csv.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(("notebook", *Result._fields))
            writer.writerows(rows)
    return failed


if __name__ == "__main__":
    sys.exit(main())
