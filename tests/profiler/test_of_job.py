"""Traces of several processes as one; with real processes: ``tests/distributed/program_stores.py``."""

from __future__ import annotations

from typing import Any

import pytest

import mixnet as mx
from mixnet.distributed.clocks import Offset, offsets
from mixnet.profiler.of_job import merged


def trace(begin: float) -> dict[str, Any]:
    about = [
        {"name": "process_name", "ph": "M", "pid": number, "args": {"name": name}}
        for number, name in ((0, "mixnet"), (1, "training"))
    ]
    events = [
        {"name": "dot", "ph": "X", "pid": 0, "tid": 0, "ts": begin, "dur": 5.0},
        {"name": "epoch", "ph": "b", "pid": 1, "tid": 0, "ts": begin, "id": 4},
        {"name": "epoch", "ph": "e", "pid": 1, "tid": 0, "ts": begin + 9, "id": 4},
    ]
    return {"traceEvents": [*about, *events], "displayTimeUnit": "ms"}


def test_times_are_those_of_the_first_clock() -> None:
    whole = merged([trace(100.0), trace(7100.0)], [Offset(0, 0), Offset(7_000_000, 30)], ["a", "b"])
    begins = [event["ts"] for event in whole["traceEvents"] if event["name"] == "dot"]
    assert begins == [100.0, 100.0]
    assert whole["otherData"]["clocks"]["rank 1"] == {
        "nanoseconds taken off": 7_000_000,
        "within": 30,
    }


def test_ranks_have_separate_processes_and_spans() -> None:
    whole = merged([trace(0.0)] * 3, [Offset(0, 0)] * 3, ["a", "b", "c"])["traceEvents"]
    names = {
        event["pid"]: event["args"]["name"] for event in whole if event["name"] == "process_name"
    }
    assert list(names.values())[::2] == [
        f"rank {i} on {host}: mixnet" for i, host in enumerate("abc")
    ]
    assert list(names) == list(range(6))
    order = {
        event["pid"]: event["args"]["sort_index"]
        for event in whole
        if event["name"] == "process_sort_index"
    }
    assert order == {number: number for number in range(6)}
    assert len({event["id"] for event in whole if event["ph"] == "b"}) == 3


class Threads:
    """Stands for a job whose second process has a clock that is ahead and whose messages are slow."""

    size = 2

    def __init__(self, ahead: int) -> None:
        self.time, self.begins, self.turn, self.ahead = 0, [], 0, ahead  # type: ignore[var-annotated]

    def clock(self) -> int:
        self.time += 700
        return self.time

    def gather(self, data: Any) -> Any:
        import numpy as np

        if data.size == 1:
            self.time += 4000
            return data
        # The other one began a little later than this one and ended a little earlier.
        shift = 300 if self.turn == 0 else -500
        self.turn += 1
        return np.stack([data, data + shift + self.ahead])


@pytest.mark.parametrize("ahead", [0, 10**9, -(10**12)])
def test_offsets_are_within_their_error_bounds(ahead: int) -> None:
    job = Threads(ahead)
    first, second = offsets(job, 5, job.clock)  # type: ignore[arg-type]
    assert first == Offset(0, 0)
    assert abs(second.nanoseconds - ahead) <= second.within < 5000


def test_a_store_of_one_process_is_refused() -> None:
    with pytest.raises(
        mx.base.AttributeTypeError, match=r"store of several processes.*mx.profiler.dump\(\)"
    ):
        mx.profiler.dump_all(mx.kv.create("local"))
