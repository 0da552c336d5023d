"""Storage sharing: which arrays share a storage in place, and which storages may overlap.

The two ways to share are those of the paper (Chen et al., "MXNet", 2015, section 3.1). *Inplace*: an output
reuses the storage of an input that is not read later, if the operator is elementwise. *Co-share*: later
storages reuse the memory of one that is no longer needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from mixnet.passes.lifetimes import EXTERNAL, Array, Schedule, ScheduledStep


@dataclass(eq=False)
class Storage:
    """A piece of memory and the arrays that live in it, in place, one after another.

    ``first`` and ``last`` are the steps between which it is needed. ``users`` is a bit set of the steps
    that write or read it, ``before`` one of the steps that run before the first of these in every order
    that the data flow allows.
    """

    number: int
    nbytes: int
    first: int
    last: int
    before: int
    users: int = 0
    holds_output: bool = False  # it holds an output of the graph
    arrays: list[Array] = field(default_factory=list)
    offset: int = 0

    def add(self, array: Array, step: int) -> None:
        """Add an array, which ``step`` writes."""
        self.arrays.append(array)
        self.last = max(self.last, array.last)
        self.holds_output |= array.kind == "output"
        self.users |= 1 << step
        for reader in array.readers:
            self.users |= 1 << reader
        array.storage = self.number

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "id": self.number,
            "nbytes": self.nbytes,
            "offset": self.offset,
            "first": self.first,
            "last": self.last,
            "arrays": [array.name for array in self.arrays],
        }


def make_storages(schedule: Schedule, inplace: bool) -> list[Storage]:
    """A storage for every internal array, shared in place if requested; linear in the schedule.

    An output that is a reshaped input shares its memory if the user cannot notice. An elementwise output
    reuses the storage of an input that nothing reads later or at the same time.
    """
    storages: list[Storage] = []
    home: dict[Array, Storage] = {}
    for number, step in enumerate(schedule.steps):
        written: set[Storage] = set()
        rest = []
        for index, array in enumerate(step.writes):
            if array.kind in EXTERNAL:
                continue
            source = step.reads.get(step.same[index]) if inplace and index in step.same else None
            storage = home.get(source) if source is not None else None
            of_argument = source is not None and source.kind in ("argument", "view")
            if of_argument and array.kind == "internal":  # an output is a separate array
                array.kind = "view"
                continue
            if storage is None or (storage.holds_output and array.kind == "output"):
                rest.append((index, array))
            else:
                storage.add(array, number)
                home[array] = storage
        for index, array in rest:
            storage = _free_input(step, number, index, home, written) if inplace else None
            if storage is None:
                storage = Storage(len(storages), array.nbytes, number, number, step.before)
                storages.append(storage)
            written.add(storage)
            storage.add(array, number)
            home[array] = storage
    return storages


def _free_input(
    step: ScheduledStep, number: int, index: int, home: dict[Array, Storage], written: set[Storage]
) -> Storage | None:
    """The storage of an input that output ``index`` can be computed in; None if there is none."""
    allowed = step.elementwise[index]
    for place in sorted(allowed):
        array = step.reads.get(place)
        storage = home.get(array) if array is not None else None
        if storage is None or storage.holds_output or storage in written:
            continue
        if storage.users & ~(step.before | 1 << number):
            continue  # another step reads it later, or could read it at the same time
        others = (p for p, each in step.reads.items() if home.get(each) is storage)
        if all(other in allowed for other in others):
            return storage
    return None


def live_bytes(storages: list[Storage], steps: int) -> list[int]:
    """Bytes of the storages that are needed at each step."""
    change = [0] * (steps + 1)
    for storage in storages:
        change[storage.first] += storage.nbytes
        change[storage.last + 1] -= storage.nbytes
    live: list[int] = []
    for each in change[:steps]:
        live.append(each + (live[-1] if live else 0))
    return live


def conflicts(storages: list[Storage], steps: int, in_order: bool) -> list[list[int]]:
    """For every storage, the numbers of those that must not overlap it.

    Args:
        storages: in the order of their first use.
        steps: the number of steps in the schedule.
        in_order: whether steps run in the order of the schedule, so that only storages that are needed at the
            same time conflict. Otherwise storages of steps that could run at the same time conflict, too, so
            that sharing does not reduce parallelism.
    """
    result: list[list[int]] = [[] for _ in storages]
    using: list[list[int]] = [[] for _ in range(steps)]
    ending: list[list[int]] = [[] for _ in range(steps)]
    alive: dict[int, None] = {}
    done = 0
    for storage in storages:
        for step in range(done, storage.first):
            for number in ending[step]:
                del alive[number]
        done = storage.first
        clash = dict(alive)
        if not in_order:
            for step in _bits(((1 << storage.first) - 1) & ~storage.before):
                clash.update(dict.fromkeys(using[step]))
            for step in _bits(storage.users):
                using[step].append(storage.number)
        for number in clash:
            result[storage.number].append(number)
            result[number].append(storage.number)
        alive[storage.number] = None
        ending[storage.last].append(storage.number)
    return result


def _bits(number: int) -> Iterator[int]:
    while number:
        low = number & -number
        yield low.bit_length() - 1
        number ^= low
