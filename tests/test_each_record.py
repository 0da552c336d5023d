"""Tests of many records: all run, each from the same state, and each that fails is named."""

from __future__ import annotations

import inspect
import random

import pytest

import mixnet as mx
from tests import each_record as module
from tests.each_record import each_record


def test_all_failing_records_are_named_with_both_values() -> None:
    @each_record("number, square", [(1, 1), (2, 5), (3, 9), (4, 17)])
    def check(number: int, square: int) -> None:
        assert number**2 == square

    with pytest.raises(pytest.fail.Exception) as failed:
        check()
    text = str(failed.value)
    assert text.startswith("2 failures in 4 records:\n\n2-5\n")
    assert "\n\n4-17\n" in text and "3-9" not in text and "1-1" not in text
    assert text.count("assert number**2 == square") >= 2
    assert "(2 ** 2) == 5" in text and "(4 ** 2) == 17" in text


def test_each_record_starts_from_the_same_state() -> None:
    drawn = []

    @each_record("number", range(3))
    def check(number: int) -> None:
        drawn.append((random.random(), float(mx.nd.random.uniform(shape=(1,)).asnumpy()[0])))

    check()
    assert len(drawn) == 3 and len(set(drawn)) == 1


def test_what_a_record_leaves_behind_is_its_own() -> None:
    @each_record("number", range(2))
    def check(number: int) -> None:
        if number == 0:
            mx.autograd.set_recording(True)
        else:
            mx.autograd.set_recording(False)

    with pytest.raises(pytest.fail.Exception) as failed:
        check()
    text = str(failed.value)
    assert text.startswith("1 failures in 2 records:\n\n0\n")
    assert "a test left a recording scope open" in text


def test_records_are_not_skipped() -> None:
    @each_record("number", [1])
    def check(number: int) -> None:
        pytest.skip("on a whim")

    with pytest.raises(pytest.fail.Exception, match=r"cannot be skipped.*on a whim"):
        check()


def test_records_are_there() -> None:
    @each_record("number", [])
    def check(number: int) -> None:
        pass

    with pytest.raises(AssertionError, match="there are no records"):
        check()


def test_a_pattern_chooses_records(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []

    @each_record("name", ["sum", "softmax", "log_softmax"])
    def check(name: str) -> None:
        ran.append(name)

    monkeypatch.setattr(module, "CHOSEN", "s*m*")
    check()
    assert ran == ["sum", "softmax"]
    monkeypatch.setattr(module, "CHOSEN", "dot")
    with pytest.raises(pytest.skip.Exception, match="dot names none"):
        check()


def test_areas_are_tests_and_fixtures_reach_each_record() -> None:
    calls = []

    @each_record("name", ["a.x", "a.y", "b.x"], by=lambda name: name[0])
    def check(name: str, tmp_path: str) -> None:
        calls.append((name, tmp_path))

    assert list(inspect.signature(check).parameters) == ["area", "tmp_path"]
    (mark,) = check.pytestmark  # type: ignore[attr-defined]
    assert list(mark.args[1]) == ["a", "b"]
    check(area="a", tmp_path="here")
    assert calls == [("a.x", "here"), ("a.y", "here")]


def test_decorators_above_each_other_run_all_pairs() -> None:
    pairs = []

    @each_record(("name", "power"), [("square", 2), ("cube", 3)])
    @each_record("number", [3, 4])
    def check(number: int, name: str, power: int) -> None:
        pairs.append((name, number**power))
        assert number != 4 or power != 3

    with pytest.raises(pytest.fail.Exception, match="1 failures in 4 records:\n\ncube-3-4\n"):
        check()
    assert pairs == [("square", 9), ("square", 16), ("cube", 27), ("cube", 64)]
    assert not inspect.signature(check).parameters


def test_records_without_names_have_short_and_distinct_labels() -> None:
    array = mx.nd.ones(3)

    @each_record(
        "call, value", [(lambda: 1 / 0, "a text of\n two lines"), (len, array), (len, [array])]
    )
    def check(call: object, value: object) -> None:
        raise AssertionError

    with pytest.raises(pytest.fail.Exception) as failed:
        check()
    labels = [text.partition("\n")[0] for text in str(failed.value).split("\n\n")[1:]]
    assert labels[0].startswith("line ") and labels[0].endswith("-a text of two lines")
    assert labels[1:] == ["len-NDArray", "len-list"]

    @each_record("call", [len, len, abs])
    def fail(call: object) -> None:
        raise AssertionError

    with pytest.raises(pytest.fail.Exception) as failed:
        fail()
    labels = [text.partition("\n")[0] for text in str(failed.value).split("\n\n")[1:]]
    assert labels == ["len 0", "len 1", "abs"]
