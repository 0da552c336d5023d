"""Memory puzzles: the storages of a plan as boxes, and the answers of planners."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import Any

from mixnet.passes.place_arrays import place_arrays
from mixnet.passes.plan_memory import MemoryPlan

Items = list[dict[str, Any]]
MATCH = 16  # MXNet takes a free block of up to so many times the bytes that are asked for


def items_of(plan: MemoryPlan) -> Items:
    """A box for each storage: ``name`` of its first content, ``size`` in bytes, ``begin`` and
    ``end`` in steps, the end exclusive.
    """
    return [
        {
            "name": each.arrays[0].name,
            "size": each.nbytes,
            "begin": each.first,
            "end": each.last + 1,
        }
        for each in plan.storages
        if each.nbytes
    ]


def references(items: Items) -> tuple[list[dict[str, Any]], list[int]]:
    """The solutions that an answer is compared with, and the initial answer: no box shares memory."""
    separate = [0, *accumulate(each["size"] for each in items[:-1])]
    bound = max(
        (sum(o["size"] for o in items if o["begin"] <= each["begin"] < o["end"]) for each in items),
        default=0,
    )
    meets = [
        [j for j, b in enumerate(items) if i != j and max(a["begin"], b["begin"]) < min(a["end"], b["end"])]
        for i, a in enumerate(items)
    ]  # fmt: skip
    ours = place_arrays(
        [each["size"] for each in items], meets, [each["begin"] for each in items], bound
    )
    return [
        {
            "name": "lower bound",
            "means": "the bytes needed in the worst step",
            "score": bound,
            "place": None,
            "bound": True,
        },
        {
            "name": "mixnet",
            "means": "mixnet's planner: largest array first, into the tightest gap",
            "place": ours,
        },
        {
            "name": "MXNet",
            "means": "MXNet's rule: in program order, reuse a whole free block of similar size",
            "place": whole_blocks(items),
        },
        {"name": "no sharing", "means": "every array has its own memory", "place": separate},
    ], separate


def whole_blocks(items: Items) -> list[int]:
    """Offsets by the rule of MXNet 1.x: walk the program and hand out whole blocks that have become free.

    The smallest free block that is large enough is taken, if it is less than ``MATCH`` times too
    large; else the largest of those that are too small, but not ``MATCH`` times, and it grows;
    else a new one.
    """
    sizes: list[int] = []  # of the blocks
    block = [0] * len(items)
    free: list[tuple[int, int]] = []  # size, block; ascending
    for number in sorted(range(len(items)), key=lambda i: (items[i]["begin"], i)):
        begin, size = items[number]["begin"], items[number]["size"]
        covered = {
            block[i] for i, each in enumerate(items)
            if each["begin"] <= begin < each["end"] and (each["begin"], i) < (begin, number)
        }  # fmt: skip
        free = sorted((own, i) for i, own in enumerate(sizes) if i not in covered)
        at = bisect_left(free, (size, -1))
        if at < len(free) and free[at][0] < MATCH * size:
            block[number] = free[at][1]
        elif at and free[at - 1][0] * MATCH >= size:
            block[number] = free[at - 1][1]
            sizes[block[number]] = size
        else:
            block[number] = len(sizes)
            sizes.append(size)
    return [sum(sizes[: block[number]]) for number in range(len(items))]
