"""MemoryView: the position and lifetime of every array, planned or recorded."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from types import FrameType
from typing import Any

from mixnet.base import MXNetError
from mixnet.context import Context
from mixnet.runtime.value.memory import MemoryLog
from mixnet.units import size_text, time_text
from mixnet.widgets.graph.attributes import program_names
from mixnet.widgets.graph.target import pictured
from mixnet.widgets.memory.live import payload_of_log
from mixnet.widgets.memory.picture import (
    alive_at,
    array_name,
    picture,
    source_text,
    than,
)
from mixnet.widgets.memory.plans import SCHEMA, PlanRequest, in_program, payload_of
from mixnet.widgets.sight import sight
from mixnet.widgets.view import View
from mixnet.widgets.why.question import Payload
from mixnet.widgets.why.still import arrays_by_key

LIVE_SIGHT = (
    "Look at the red line, the [peak]: the arrays that it crosses exist at the same time. A box that "
    "reaches the right edge is still alive."
)


class MemoryView(View):
    """The memory of a network over its schedule, under each way to share it; nothing is run.

    A box is an array: its width is its lifetime in steps, its height its bytes, and it stands at
    its place in the arena. The plans are ``none`` (every array has its own memory), ``inplace``,
    ``co-share``, ``both``, and ``recompute`` (both, and backward computes results of forward
    again). Their totals are those of ``memory_plan``; XLA's own figure is shown beside them if it
    was measured.

    Args:
        target: a ``Symbol``, with shapes by name; or a ``HybridBlock``, with arrays whose values
            are not read.
        inputs: arrays for a block; the last one is the label if there is a loss.
        train: forward and gradients (``grad_req="write"``), or forward alone.
        loss: for a block, the loss block whose gradients are planned.
        xla: compile the network for XLA's figure; by default if it has at most 100 operations.
        shapes: for a symbol, shapes or arrays by name.

    Raises:
        AttributeTypeError: the target has no memory plan, or does not take these inputs.
        ShapeError: the shapes do not determine all others, or do not match.

    State: ``plan``, ``selected`` (number of an array), ``window`` (from, to: steps, or
    milliseconds of live memory), ``one`` (all plans on one scale), ``events`` (live memory by
    event). ``view.choose(window=[90, 130])`` zooms there.

    Source: the payload ``mixnet.memory/1`` has ``unit`` (``step`` or ``us``), ``graphs``
    (``steps`` and ``arrays`` by columns, ends exclusive; a step's ``name`` is that in the
    program, ``node`` that in the graph; of live memory, ``callers`` are the sources that led to
    its own), ``plans`` (storage of each array, offset and size of
    each storage, total, peak), ``strings`` and ``sources`` that columns point into, and
    ``check`` (XLA). Letters of kinds: F forward only, A saved for backward, B made by backward,
    R recomputed, O output; for live memory L, and E for arrays that existed before.
    """

    schema = SCHEMA
    bundle = "memory"
    sight = (
        "Look at the red line, the [peak]: arrays that it crosses are needed at the same "
        "time. The better [memory plan] has the smaller [arena]."
    )

    def __init__(
        self, target: object, *inputs: Any, train: bool = True, loss: object = None,
        xla: bool | None = None, **shapes: Any,
    ):  # fmt: skip
        boundary = sys._getframe()
        request = PlanRequest(target, inputs, train, loss, shapes, boundary)
        payload = payload_of(request, xla)
        labels = _labels(target, inputs, train, loss, shapes, boundary)
        super().__init__(in_program(payload, labels), {"plan": "both"})

    @staticmethod
    def live(log: MemoryLog | None = None, ctx: Context | None = None) -> MemoryView:
        """Memory over time, as ``with mx.runtime.memory():`` recorded it, with the line of each array.

        Args:
            log: what the scope gave; by default the log that is being recorded, else the last one.
            ctx: which device is shown first; by default the one that held most.

        Raises:
            MXNetError: nothing was recorded.
        """
        payload = payload_of_log(log, ctx)
        view = MemoryView.__new__(MemoryView)
        payload = {"sight": sight(LIVE_SIGHT), **payload}
        View.__init__(view, payload, {"plan": payload["plans"][0]["name"]})
        return view

    def plan(self, name: str | None = None) -> dict[str, Any]:
        """One plan of the payload; by default the chosen one.

        Args:
            name: of a plan, such as ``'both'``.
        """
        plans = {each["name"]: each for each in self.payload["plans"]}
        plan: dict[str, Any] = plans.get(
            name or self.state.get("plan", ""), self.payload["plans"][-1]
        )
        return plan

    @property
    def totals(self) -> dict[str, int]:
        """Bytes of the arena under each plan, as reported by ``memory_plan``."""
        return {each["name"]: each["total"] for each in self.payload["plans"]}

    @property
    def selected(self) -> str | None:
        """Name of the array that was clicked, as ``memory_plan`` has it."""
        number = self.state.get("selected")
        graph = self.payload["graphs"][self.plan()["graph"]]
        if number is None or number >= len(graph["arrays"]["step"]):
            return None
        return array_name(graph, number, "node")

    def svg(self) -> str:
        return picture(self.payload, self.plan(), self.summary())

    def _subjects(self) -> list[tuple[Payload, dict[str, str]]]:
        return [(self.payload, arrays_by_key(self.payload, {}))]

    def summary(self) -> str:
        p = self.payload
        if p["unit"] != "step":
            peaks = (
                f"{each['name']}: peak {size_text(each['peak']['bytes'])} after "
                f"{time_text(each['peak']['at'] / 1e6)}"
                for each in p["plans"]
            )
            return f"live memory, {'; '.join(peaks)}"
        totals = self.totals
        saved = {"both": f" ({than(totals['none'], totals['both'])})"}
        text = ", ".join(
            f"{name} {size_text(size)}{saved.get(name, '')}" for name, size in totals.items()
        )
        way = "training" if p["train"] else "prediction"
        return f"memory plans of {p['name']}, {way}: {text}"

    def table(self) -> tuple[list[str], Iterable[Iterable[Any]]]:
        return self._alive_table() if self.payload["unit"] != "step" else self._plan_table()

    def _plan_table(self) -> tuple[list[str], list[list[Any]]]:
        p = self.payload
        none = self.totals["none"]
        rows = [
            [
                each["name"],
                size_text(each["total"]),
                f"{each['total']:,}",
                than(none, each["total"]),
                f"{each['bound']:,}",
            ]
            for each in p["plans"]
        ]
        check = p["check"]
        if check["xla"] is not None:
            size = check["xla"]
            rows.append(["XLA's own", size_text(size), f"{size:,}", than(none, size), ""])
        return ["plan", "total", "bytes", "than none", "lower bound, bytes"], rows

    def _alive_table(self) -> tuple[list[str], list[list[Any]]]:
        p, plan = self.payload, self.plan()
        graph = p["graphs"][plan["graph"]]
        columns = graph["arrays"]
        rows = [
            [
                array_name(graph, number),
                size_text(columns["bytes"][number]),
                p["strings"][columns["shape"][number]],
                p["strings"][columns["dtype"][number]],
                source_text(p, graph, number),
            ]
            for number in alive_at(graph, plan, plan["peak"]["at"])
        ]
        return [f"alive at the peak on {plan['name']}", "size", "shape", "dtype", "line"], rows


def _labels(
    target: object, inputs: Sequence[Any], train: bool, loss: object, shapes: Mapping[str, Any],
    boundary: FrameType,
) -> dict[str, str]:  # fmt: skip
    """The names of the operations in the program; a plan can be shown without."""
    try:
        return program_names(pictured(target, inputs, train, loss, shapes, boundary))
    except MXNetError:
        return {}
