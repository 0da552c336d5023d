"""The checks of exercises: right answers pass, and wrong ones get an explanation."""

from __future__ import annotations

import importlib.util
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx

FILE = Path(__file__).parents[2] / "notebooks" / "course.py"


@pytest.fixture(scope="module")
def course() -> Any:
    spec = importlib.util.spec_from_file_location("course", FILE)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (lambda x: 2 * x, "✔"),
        (lambda x: None, "twice ones is None: there is nothing to check so far"),
        (lambda x: x, "twice ones is 1 at [0], expected 2"),
        (lambda x: x[:2] * 2, "twice ones has shape (2,), expected (3,)"),
        (lambda x: x * float("nan"), "twice ones is nan at [0], expected 2"),
        (lambda x: x.nothing, "it raises AttributeError"),
    ],
)
def test_checks_accept_right_answers_and_explain_wrong_ones(
    course: Any, answer: Any, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    @course.checks
    def check(test: Any, double: Any) -> None:
        test.close(double(mx.nd.ones(3)), [2, 2, 2], "twice ones")

    check(answer)
    printed = capsys.readouterr().out
    assert expected in printed and printed.count("\n") == 1
    assert ("not yet" in printed) == (expected != "✔")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (
            "lambda x: x.nothing",
            "it raises AttributeError: 'int' object has no attribute 'nothing'",
        ),
        ("lambda x: callback()", "it raises KeyError: 'key'"),
        (
            "lambda x: 'a'",
            "checking it raises AttributeError: 'str' object has no attribute 'shape'",
        ),
        ("lambda: 1", "checking it raises TypeError"),
        ("lambda x: None", "the result is None: there is nothing to check so far."),
    ],
)
def test_an_error_of_a_check_is_not_called_one_of_the_answer(
    course: Any, answer: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in a notebook: the check and the answer are in different cells."""
    check_cell = """
@course.checks
def check(test, answer):
    answer(3).shape

def callback():
    return {}["key"]
"""
    names: dict[str, Any] = {"course": course}
    exec(compile(check_cell, "ipykernel_1/1.py", "exec"), names)
    exec(compile(f"answer = {answer}", "ipykernel_1/2.py", "exec"), names)
    names["check"](names["answer"])
    assert f"not yet: {expected}" in capsys.readouterr().out


def test_equal_and_true_check_values(course: Any, capsys: pytest.CaptureFixture[str]) -> None:
    @course.checks
    def check(test: Any, actual: Any) -> None:
        test.equal(actual, 3, "the number")
        test.true(actual > 5, "it is too small")

    check(3)
    assert "too small" in capsys.readouterr().out
    check(2)
    assert "the number is 2, expected 3" in capsys.readouterr().out


def test_data_of_the_course_are_as_described(course: Any) -> None:
    pytest.importorskip("sklearn")
    data = course.digits()
    assert data.train_x.shape == (1438, 1, 8, 8) and data.test_x.shape == (359, 1, 8, 8)
    assert data.train_x.dtype == data.train_y.dtype == np.float32
    assert data.train_x.min() == 0 and data.train_x.max() == 1
    assert course.photograph("flower", 4).shape == (107, 160, 3)
    both = np.concatenate([data.train_x, data.test_x]).reshape(1797, -1)
    assert len({row.tobytes() for row in both}) == 1797, "no digit is in both parts"


def test_integer_pictures_are_shown_in_their_colours(
    course: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes from 0 to 255 look like the same colours from 0 to 1."""
    display = pytest.importorskip("IPython.display")
    image = pytest.importorskip("PIL.Image")
    shown: list[np.ndarray] = []
    monkeypatch.setattr(
        display, "display", lambda each: shown.append(np.asarray(image.open(io.BytesIO(each.data))))
    )
    colours = np.full((40, 40, 3), (0.2, 0.6, 0.4), "float32")
    course.show([colours])
    course.show([(255 * colours).round().astype("uint8")])
    assert np.abs(shown[0].astype(int) - shown[1]).max() <= 12
    middle = shown[1][shown[1].shape[0] // 2, shown[1].shape[1] // 2]
    assert np.abs(middle - np.array((51, 153, 102))).max() <= 6


def test_titles_of_pictures_are_not_cut_off(course: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    display = pytest.importorskip("IPython.display")
    image = pytest.importorskip("PIL.Image")
    shown: list[np.ndarray] = []

    def keep(each: Any) -> None:
        shown.append(np.asarray(image.open(io.BytesIO(each.data)).convert("L")))

    monkeypatch.setattr(display, "display", keep)
    photo = np.full((107, 160, 3), 0.5)
    course.show([photo, photo], ["as it was", "after"], size=2.5)
    (pixels,) = shown
    assert (pixels[:4] > 200).all(), "a margin above the titles"
    assert (pixels[:20] < 100).any(), "the titles"
