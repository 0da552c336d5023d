"""Process sets of three processes: exchanges, those that differ within one, and opposite orders."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from mixnet.distributed.deadlocks import Deadlocks, waiting
from mixnet.distributed.lines import packed
from tests.distributed.launching import launch


@pytest.mark.parametrize("uses_shared_memory", ["1", "0"])
def test_process_sets_exchange_and_disagree(
    uses_shared_memory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MIXNET_SHARED_MEMORY", uses_shared_memory)
    job = launch(3, "program_process_sets.py")
    output = job.stdout + job.stderr
    assert job.stdout.count("] done") == 3, output
    assert job.returncode == 1, output
    assert "DisagreementError: The workers come to different exchanges" in output
    assert "rank 0: all-reduce of (3,) float32" in output
    assert "rank 2: all-reduce of (4,) float32" in output


# Direct exchanges whose order the workers know or have to ask for, exchanges through shared memory and by a
# program, and the engine that runs each operation at once.
@pytest.mark.parametrize(
    ("size", "rounds", "variables"),
    [
        (4, 4, {}),
        (4, 0, {}),
        (2_000_000, 4, {}),
        (2_000_000, 4, {"MIXNET_SHARED_MEMORY": "0"}),
        (4, 4, {"MXNET_ENGINE_TYPE": "NaiveEngine"}),
    ],
)
def test_opposite_orders_are_an_error_in_all_processes(
    size: int, rounds: int, variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    start = time.monotonic()
    job = launch(3, "program_deadlock.py", str(size), str(rounds))
    output = job.stdout + job.stderr
    assert time.monotonic() - start < 150  # of which a job needs several on a busy machine
    assert job.stdout.count("] agreed") == 3, output
    assert job.returncode == 1, output
    for text in (
        "DisagreementError: The workers wait for each other and would never end. ",
        f"rank 0 waits in all-reduce of ({size},) float32 at ",
        ", an exchange of the ranks 0, 1; ",
        f"rank 1 waits in all-reduce of ({size},) float32 at ",
        ", an exchange of all workers. ",
        "in the same order",
    ):
        assert text in output, output


def waits(ranks: tuple[int, ...], number: int, **begun: int) -> dict[str, Any]:
    """A message; ``begun`` names sets by their digits: ``all`` or ``of_01``."""
    sets = {tuple(map(int, name.removeprefix("of_"))) if name != "all" else (): count
            for name, count in begun.items()}  # fmt: skip
    return json.loads(packed(**waiting(ranks, number, f"number {number}", sets)))


def test_waiting_processes_are_no_deadlock() -> None:
    record = Deadlocks(3)
    assert record.add(0, waits((0, 1), 5, all=2, of_01=5)) == {}  # rank 1 may begin it
    assert (
        record.add(1, waits((0, 1), 5, all=2, of_01=5)) == {}
    )  # both have begun it, the link is slow
    assert record.add(2, waits((), 3, all=3)) == {}  # the others come to it later
    assert (
        record.add(1, waits((), 3, all=3, of_01=5)) == {}
    )  # rank 0 has not begun it, but waits for none


def test_two_sets_in_opposite_order_are_a_deadlock() -> None:
    record = Deadlocks(2)
    assert record.add(1, waits((), 3, all=3, of_01=4)) == {}
    assert record.add(0, waits((0, 1), 5, all=2, of_01=5)) == {
        "0": "number 5, an exchange of the ranks 0, 1",
        "1": "number 3, an exchange of all workers",
    }


def test_a_circle_of_three_sets_is_a_deadlock() -> None:
    record = Deadlocks(3)
    assert record.add(0, waits((0, 1), 1, of_01=1, of_02=0)) == {}
    assert record.add(1, waits((1, 2), 1, of_12=1, of_01=0)) == {}
    assert record.add(2, waits((0, 2), 1, of_02=1, of_12=0)) == {
        "2": "number 1, an exchange of the ranks 0, 2",
        "0": "number 1, an exchange of the ranks 0, 1",
        "1": "number 1, an exchange of the ranks 1, 2",
    }
