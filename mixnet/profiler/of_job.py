"""The profiles of all processes of a job, merged into one trace on one clock."""

from __future__ import annotations

import json
import platform
import zlib
from collections.abc import Sequence
from typing import Any

from mixnet.base import AttributeTypeError
from mixnet.distributed.clocks import Offset, offsets
from mixnet.distributed.processes import World
from mixnet.files.whole_file import write_whole
from mixnet.kvstore.base import KVStoreBase
from mixnet.profiler.control import set_state
from mixnet.profiler.session import session
from mixnet.profiler.trace import chrome_trace


def dump_all(store: object, filename: str | None = None, finished: bool = True) -> list[Offset]:
    """Write the profiles of all workers to one Chrome trace, one row a rank, with all times on
    the clock of the first worker.

    All workers call it; the first one writes. A worker that profiled nothing has an empty row.

    Args:
        store: of several processes, as ``mx.kv.create('dist_sync')``.
        filename: by default that of ``set_config``, in the first worker.
        finished: stop the profile, too.

    Returns:
        For each rank, what was subtracted from its times and the possible error, in nanoseconds.

    Raises:
        AttributeTypeError: the store is that of one process.
        OSError: the file cannot be written.
    """
    handle = getattr(store, "handle", None) if isinstance(store, KVStoreBase) else None
    world = getattr(handle, "world", None)
    if not isinstance(world, World):
        raise AttributeTypeError(
            "dump_all takes a store of several processes, such as mx.kv.create('dist_sync'), "
            f"not {store!r:.60}; of one "
            f"process mx.profiler.dump() writes the profile."
        )
    if finished and session.running:
        set_state("stop")
    trace = chrome_trace(session.rows(), session.happened())
    clock_offsets = offsets(world)
    packed = world.gather_bytes(zlib.compress(json.dumps(trace).encode()))
    traces = [json.loads(zlib.decompress(each)) for each in packed]
    hosts = [each.decode() for each in world.gather_bytes(platform.node().encode())]
    if world.rank == 0:
        timeline = merged(traces, clock_offsets, hosts)
        write_whole(filename or session.settings.filename, json.dumps(timeline).encode())
    if finished:
        session.finished = True
    return clock_offsets


def merged(
    traces: Sequence[dict[str, Any]], clock_offsets: Sequence[Offset], hosts: Sequence[str]
) -> dict[str, Any]:
    """Traces of the processes of a job as one.

    Process numbers go up rank by rank, what the engine of a rank ran before what its program marked.

    Args:
        traces: of ``chrome_trace``, in the order of ranks.
        clock_offsets: of their clocks to that of the first.
        hosts: names of their machines.
    """
    events: list[dict[str, Any]] = []
    first = 0  # number of the first process of a rank
    for rank, (trace, offset, host) in enumerate(zip(traces, clock_offsets, hosts, strict=True)):
        later = offset.nanoseconds / 1000
        last = first
        for event in trace["traceEvents"]:
            moved = {**event, "pid": first + event["pid"]}
            last = max(last, moved["pid"])
            if "ts" in moved:
                moved["ts"] -= later
            if "id" in moved:
                moved["id"] = f"{rank}.{moved['id']}"
            if moved["ph"] == "M" and moved["name"] == "process_name":
                events.append(_sorted(moved["pid"]))
                moved["args"] = {"name": f"rank {rank} on {host}: {event['args']['name']}"}
            events.append(moved)
        first = last + 1
    clocks = {
        f"rank {rank}": {"nanoseconds taken off": each.nanoseconds, "within": each.within}
        for rank, each in enumerate(clock_offsets)
    }
    return {"traceEvents": events, "displayTimeUnit": "ms", "otherData": {"clocks": clocks}}


def _sorted(process: int) -> dict[str, Any]:
    return {
        "name": "process_sort_index",
        "ph": "M",
        "pid": process,
        "args": {"sort_index": process},
    }
