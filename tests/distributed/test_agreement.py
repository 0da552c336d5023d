"""Workers that push different things get an error before anything is summed."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

import pytest

from mixnet.distributed.agreement import Agreement, Description, DisagreementError, Questions
from tests.distributed.launching import PROGRAMS, launch
from tests.waiting import join

SGD = "SGD(learning_rate={rate}, wd=0, rescale_grad=1, clip_gradient=None)"


class Job:
    """Agreements of some workers and the scheduler's questions, in one process."""

    def __init__(self, workers: int) -> None:
        self.questions, self.messages = Questions(workers), 0
        self.members = [Agreement(self.from_worker(rank)) for rank in range(workers)]
        self.waiting: list[tuple[int, dict[str, Any]]] = []

    def from_worker(self, rank: int) -> Callable[..., None]:
        return lambda ask: self.waiting.append((rank, ask))

    def deliver(self) -> None:
        while self.waiting:
            rank, ask = self.waiting.pop(0)
            self.messages += 1
            answer = self.questions.ask(rank, ask)
            for member in self.members if answer else ():
                member.hear(answer)

    def announce(self, rank: int, text: str, line: str | None = None) -> int:
        number = self.members[rank].note(Description(text), line)
        self.members[rank].speak()
        return number


def never() -> bool:
    return False


def test_only_waiting_sends_the_recorded_exchanges() -> None:
    messages: list[dict[str, Any]] = []
    member = Agreement(lambda **message: messages.append(message))
    numbers = [member.note(Description(text)) for text in ("a", "b")]
    assert messages == [], "whoever notes may hold a lock"
    member.wait(numbers[0], lambda: True)
    assert [each["ask"]["number"] for each in messages] == numbers
    member.speak()
    assert len(messages) == 2


def test_a_loop_is_checked_once() -> None:
    job = Job(2)
    for _ in range(20):
        for text in ("a", "b", "c"):
            numbers = [job.announce(rank, text) for rank in range(2)]
            job.deliver()
            for member, number in zip(job.members, numbers, strict=True):
                member.wait(number, never)
    assert job.messages == 8  # to a, b, c, and back to a


def test_a_loop_that_something_else_interrupts_is_not_checked_in_every_step() -> None:
    job = Job(2)
    messages = []
    for _ in range(3):
        for text in (*"aaaaa", "barrier"):
            before = job.messages
            numbers = [job.announce(rank, text) for rank in range(2)]
            job.deliver()
            for member, number in zip(job.members, numbers, strict=True):
                member.wait(number, never)
            messages.append(job.messages - before)
    assert messages[:6] == [2, 2, 0, 0, 0, 2]
    assert messages[6:12] == [2, 2, 0, 0, 0, 2], "the first one after a barrier is new"
    assert messages[12:] == [0, 2, 0, 0, 0, 2]


@pytest.mark.parametrize("before", ["ababab", "aba-aab-"])
@pytest.mark.parametrize("late", [False, True])
def test_a_process_that_deviates_is_detected_by_all(late: bool, before: str) -> None:
    job = Job(3)
    for text in before:
        numbers = [job.announce(rank, text) for rank in range(3)]
        job.deliver()
    ranks = (1, 0, 2) if late else (0, 1, 2)
    numbers = [0, 0, 0]
    for rank in ranks:
        numbers[rank] = job.announce(rank, "other" if rank == 1 else "a")
        job.deliver()
    assert numbers[0] == numbers[2] == 0 and numbers[1]  # rank 1 has nothing to run yet
    for member in job.members:
        with pytest.raises(DisagreementError, match=r"rank 0: a; rank 1: other.*same order"):
            member.wait(0, never)


def test_a_difference_names_the_lines_of_the_exchanges_that_differ() -> None:
    """Not those of earlier exchanges, which have not run yet and fail with it."""
    job = Job(2)
    for text, lines in (("a", ("x.py:1", "y.py:1")), ("a", ("x.py:2", "y.py:2"))):
        for rank in range(2):
            job.announce(rank, text, lines[rank])
        job.deliver()
    first = job.announce(0, "a", "x.py:3")  # as before: not asked about
    job.announce(1, "b", "y.py:9")
    job.deliver()
    assert not first
    for member in job.members:
        with pytest.raises(
            DisagreementError, match=r"rank 0: a at x\.py:3; rank 1: b at y\.py:9\."
        ):
            member.wait(first, never)
    long = Description("a").message(1, f"{'d/' * 300}z.py:1")["text"]
    assert len(long) < 320 and long.endswith("z.py:1")


def test_waiting_ends_when_the_job_does() -> None:
    job = Job(2)
    number = job.announce(0, "a")
    over = threading.Event()
    thread = threading.Thread(target=job.members[0].wait, args=(number, over.is_set))
    thread.start()
    over.set()
    job.members[0].wake()
    join(thread, seconds=10)


@pytest.mark.parametrize(
    ("difference", "first", "second", "lines"),
    [
        (
            "order",
            "all-reduce of 'a' (3,) float32",
            "all-reduce of 'b' (300, 400) float32",
            ("store.push(key, values[key])", "store.push(key, values[key])"),
        ),
        (
            "kind",
            "all-reduce of 'b' (300, 400) float32",
            "rows of 'b' (300, 400) float32",
            ('store.push("b", values["b"])', 'store.push("b", row)'),
        ),
        (
            "optimizer",
            f"all-reduce of 'a' (3,) float32, for set_optimizer of {SGD.format(rate=0.01)}",
            "all-reduce of 'a' (3,) float32",
            ('store.push("a", values["a"])', 'store.push("a", values["a"])'),
        ),
        (
            "rate",
            f"all-reduce of 'a' (3,) float32, for set_optimizer of {SGD.format(rate=0.1)}",
            f"all-reduce of 'a' (3,) float32, for set_optimizer of {SGD.format(rate=0.2)}",
            ('store.push("a", values["a"])', 'store.push("a", values["a"])'),
        ),
        (
            "dtype",
            "all-reduce of 'a' (3,) float32",
            "all-reduce of 'a' (3,) float64",
            (
                'store.push("a", values["a"])',
                'store.push("a", values["a"].astype("float64"))',
            ),
        ),
    ],
)
def test_workers_that_push_different_things(
    difference: str, first: str, second: str, lines: tuple[str, str]
) -> None:
    job = launch(2, "program_disagrees.py", difference)
    assert job.returncode == 3, job.stdout + job.stderr
    for rank in range(2):  # one error, the same for all
        assert f"[rank {rank}] DisagreementError: The workers come to different" in job.stdout
    parts = f"rank 0: {re.escape(first)} at (\\S+); rank 1: {re.escape(second)} at (\\S+)"
    named = re.search(rf"{parts}\. Push the same keys", job.stdout)
    assert named is not None, job.stdout
    program = (PROGRAMS / "program_disagrees.py").read_text().splitlines()
    for line, expected in zip(named.groups(), lines, strict=True):
        file, _, number = line.rpartition(":")
        assert file.endswith("program_disagrees.py")
        assert program[int(number) - 1].strip() == expected
    # The exchange that ends need not be the one that differs.
    assert "raised by" not in job.stdout
    assert "gloo" not in job.stdout


def test_a_difference_that_the_program_does_not_wait_for_is_a_failure() -> None:
    job = launch(2, "program_disagrees.py", "unread")
    assert job.returncode == 1, job.stdout + job.stderr
    assert "[rank 1] mixnet.distributed.agreement.DisagreementError" in job.stdout
