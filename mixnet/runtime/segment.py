"""A segment: operations recorded on one context that have not run yet, and how they run."""

from __future__ import annotations

import sys
import threading
import weakref
from collections import Counter
from typing import Any

import jax
import numpy as np

from mixnet import config
from mixnet.context import Context
from mixnet.engine.naive import engine
from mixnet.engine.variable import Var
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node, ScalarSlot
from mixnet.runtime.counters import count
from mixnet.runtime.executable_cache import executable
from mixnet.runtime.value import Value, check_pending


class Segment:
    """Pending operations as flat lists: appending is all that recording does.

    ``program`` holds ``(call, slots of the inputs)``: together with what is alive it is the key
    under which the compiled program is found again. Slots count outputs from 0; leaves, values
    that were there before, count down from -1.
    """

    __slots__ = (
        "context",
        "finished",
        "leaf_slots",
        "leaves",
        "lock",
        "program",
        "references",
        "scalars",
        "size",
        "var",
    )

    def __init__(self, context: Context):
        self.context = context
        self.program: list[tuple[Any, ...]] = []
        self.scalars: list[float] = []
        self.leaves: list[Value] = []
        self.leaf_slots: dict[int, int] = {}  # id of a value in ``leaves`` -> its slot
        self.references: list[weakref.ref[Value]] = []  # outputs somebody may still hold
        self.size = 0
        self.lock = threading.RLock()
        self.finished = False
        self.var: Var | None = None

    def leaf(self, value: Value) -> int:
        """Slot of a value that this segment does not compute."""
        slot = self.leaf_slots.get(id(value))
        if slot is None:
            if value.array is None:
                check_pending(value)
                value.segment.finish("another segment")
            self.leaves.append(value)
            slot = self.leaf_slots[id(value)] = -len(self.leaves)
        return slot

    def watch(self, value: Value) -> None:
        """Let ``value``, pending here, get its array when the segment runs."""
        self.references.append(weakref.ref(value))

    def finish(self, reason: str) -> None:
        """Run what is pending, once; a second call returns when the first has run it.

        Raises:
            BaseException: what running raised.
        """
        with self.lock:
            if not self.finished:
                count(f"flush:{reason}")
                self.var = Var(f"segment of {len(self.program)} operations")
                reads = [v.var for v in self.leaves if v.var is not None]
                # Before it runs: what a callback of the program records belongs to another segment.
                self.finished = True
                engine.push(self._run, reads, (self.var,), name=self.var.name)
        engine.wait_for_var(self.var)  # type: ignore[arg-type]

    def _run(self) -> None:
        alive: dict[int, list[Value]] = {}
        for reference in self.references:
            value = reference()
            if value is not None:
                if value.slot in alive:
                    alive[value.slot].append(value)
                else:
                    alive[value.slot] = [value]
        slots = tuple(sorted(alive))
        if slots:
            self._run_program(slots, alive)
        self.program, self.scalars, self.leaves, self.leaf_slots = [], [], [], {}
        self.references = []

    def _run_program(self, slots: tuple[int, ...], alive: dict[int, list[Value]]) -> None:
        donated = self._donated(slots)
        arrays = [value.array for value in self.leaves]
        if donated:
            for i in donated:  # the program is the last to hold these buffers
                count("donated_bytes", self.leaves[i].spec.nbytes)
                self.leaves[i].array = None
        call = executable((tuple(self.program), slots, donated, self.context), self)
        scalars = np.array(self.scalars, np.float64)
        with jax.enable_x64(True):
            if self.context.device is _default_device():
                results = call(scalars, *arrays)
            else:
                with jax.default_device(self.context.device):
                    results = call(scalars, *arrays)
        count("operations", len(self.program))
        for slot, array in zip(slots, results, strict=True):
            for value in alive[slot]:
                value.array = array
                value.segment = None
                value.var = self.var

    def _donated(self, slots: tuple[int, ...]) -> tuple[int, ...]:
        """Numbers of leaves whose buffers nobody needs afterwards and an output can take over."""
        unheld = []
        for i, value in enumerate(self.leaves):
            if (
                value.spec.nbytes >= _donate_bytes
                and not value.shared
                and sys.getrefcount(value) <= _REFERENCES_OF_UNHELD
                and sys.getrefcount(value.array) <= 2
            ):
                unheld.append(i)
        if not unheld:
            return ()
        specs = self._specs()
        wanted = Counter((specs[slot].shape, specs[slot].dtype) for slot in slots)
        found = []
        for i in unheld:
            spec = self.leaves[i].spec
            if wanted[spec.shape, spec.dtype]:
                wanted[spec.shape, spec.dtype] -= 1
                found.append(i)
        return tuple(found)

    def _specs(self) -> list[Any]:
        return [spec for item in self.program for spec in item[0].outputs]

    def graph(self, slots: tuple[int, ...] | None = None) -> Graph:
        """The pending operations as a graph, with the live outputs as heads."""
        if slots is None:
            slots = tuple(sorted({v.slot for r in self.references if (v := r()) is not None}))
        leaves = [Node(None, name=f"leaf{i}") for i in range(len(self.leaves))]
        entries: list[Entry] = []
        sources = getattr(self.program, "sources", None)  # kept where lines are asked for
        scalars = 0
        for number, item in enumerate(self.program):
            call, *places = item
            inputs = tuple(entries[s] if s >= 0 else Entry(leaves[-1 - s]) for s in places)
            needed = call.num_scalars
            numbers = tuple(ScalarSlot(scalars + k) for k in range(needed))
            scalars += needed
            node = Node(
                call.op, call.statics, numbers, inputs, f"{call.op.name.strip('_')}{number}"
            )
            if sources is not None and sources[number] is not None:
                node.source = sources[number]
            entries += [Entry(node, k) for k in range(len(call.outputs))]
        return Graph(tuple(entries[s] for s in slots), tuple(leaves))


_donate_bytes = config.get("MIXNET_DONATE_BYTES")


def _count_unheld() -> int:
    """References that ``Segment._donated`` sees of a value that only its segment holds.

    Measured rather than known: interpreters differ in what a loop variable counts for.
    """
    leaves = [Value.__new__(Value)]
    for _, value in enumerate(leaves):
        counted = sys.getrefcount(value)
    return counted


_REFERENCES_OF_UNHELD = _count_unheld()
_default: list[Any] = []


def _default_device() -> Any:
    if not _default:
        _default.append(jax.local_devices()[0])
    return _default[0]
