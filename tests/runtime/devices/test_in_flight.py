"""Programs in flight: whoever waits, waits for all of them, whatever other threads do."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from mixnet.runtime.devices import in_flight as module
from mixnet.runtime.devices.in_flight import InFlight
from tests.threads import in_threads


class Result:
    """A result of a program that ends when ``ended`` is set."""

    def __init__(self) -> None:
        self.ended = threading.Event()
        self.on_question: Any = None

    def __eq__(self, _: object) -> Any:
        raise AssertionError("arrays are compared element by element")

    __hash__ = None  # type: ignore[assignment]

    def is_deleted(self) -> bool:
        return False

    def is_ready(self) -> bool:
        if self.on_question is not None:
            question, self.on_question = self.on_question, None
            question()
        return self.ended.is_set()


@pytest.fixture
def waits_for(monkeypatch: pytest.MonkeyPatch) -> list[Result]:
    """The results for which a thread has waited."""
    results: list[Result] = []

    def wait(result: Result) -> None:
        results.append(result)
        assert result.ended.wait(60)

    monkeypatch.setattr(module.jax, "block_until_ready", wait)
    return results


def test_a_thread_that_waits_sees_a_program_while_another_thread_adds_one(
    waits_for: list[Result],
) -> None:
    flying, oldest = InFlight(), Result()
    rest = [Result() for _ in range(16)]
    for each in (oldest, *rest[:-1]):
        flying.add(each)
    for each in rest[:-1]:
        each.ended.set()
    in_question, waiting = threading.Event(), threading.Event()

    def work(number: int) -> None:
        if number:
            assert in_question.wait(60)
            waiting.set()
            flying.wait()
            assert oldest.ended.is_set(), "one program was overlooked"
        else:
            flying.add(rest[-1])  # asks whether the oldest has ended
            rest[-1].ended.set()
            threading.Timer(0.1, oldest.ended.set).start()

    def question() -> None:
        in_question.set()
        assert waiting.wait(60)
        threading.Event().wait(0.05)  # the other thread looks meanwhile

    oldest.on_question = question
    in_threads(2, work)


def test_two_threads_wait_for_the_same_program(waits_for: list[Result]) -> None:
    flying, result = InFlight(), Result()
    flying.add(result)
    threading.Timer(0.2, result.ended.set).start()

    def work(_: int) -> None:
        flying.wait()
        assert result.ended.is_set(), "the program has not ended"

    in_threads(2, work)
    assert waits_for == [] or all(each is result for each in waits_for)


def test_programs_that_have_ended_are_removed(waits_for: list[Result]) -> None:
    flying, results = InFlight(), [Result() for _ in range(40)]
    for each in results[:20]:
        flying.add(each)
    assert len(flying._results) == 20
    for each in results[:20]:
        each.ended.set()
    for each in results[20:]:
        flying.add(each)
    assert len(flying._results) == 20  # none of those has ended
    for each in results[20:]:
        each.ended.set()
    flying.wait()
    assert not flying._results and not waits_for


def test_a_program_that_has_ended_is_not_tracked() -> None:
    flying, result = InFlight(), Result()
    result.ended.set()
    flying.add(result)
    assert not flying._results


def test_an_error_of_a_program_is_raised_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise ValueError("the device ran out of memory")

    monkeypatch.setattr(module.jax, "block_until_ready", fail)
    flying, result = InFlight(), Result()
    flying.add(result)
    with pytest.raises(ValueError, match="out of memory"):
        flying.wait()
    flying.wait()
