"""HybridizeStepper: every stage between a line of Python and what runs, side by side and linked."""

from __future__ import annotations

import sys
from typing import Any

from mixnet.base import MXNetError
from mixnet.gluon.block import HybridBlock
from mixnet.stages import Stages
from mixnet.stages import stages as look
from mixnet.units import how_many, time_text
from mixnet.widgets.magics import cell_magic, run_cell
from mixnet.widgets.stepper import cell
from mixnet.widgets.stepper.data import key_text, payload
from mixnet.widgets.stepper.names import labels_of
from mixnet.widgets.svg import Svg
from mixnet.widgets.view import View
from mixnet.widgets.why.question import Payload

_KINDS = {
    "graph": 0,
    "pass": 2,
    "plan": 3,
    "source": 7,
    "jaxpr": 5,
    "stablehlo": 6,
    "hlo": 1,
    "run": 4,
}


class HybridizeStepper(View):
    """Step forward and back through the stages of your code: recorded graph, each pass, memory plan,
    jaxpr, StableHLO, optimized HLO, and the pieces that run.

    Select a line, an operation or a piece, and the same thing is marked in every stage. Each stage says
    what happens there and why, what it changed and how long it took. Nothing of the target changes
    (see ``mx.stages``).

    Args:
        target: a ``HybridBlock``, hybridized or not; a function of arrays, or a ``Symbol``; or the
            result of ``mx.stages``.
        inputs: the arrays to call it with.
        train: training mode, with gradients; by default the current mode.
        loss: for a block, a loss block; the last input is then the label.
        named: for a symbol arrays or shapes by name; for a function its keyword arguments.

    Raises:
        AttributeTypeError: ``mx.stages`` does not take this.

    Source: the payload ``mixnet.stages/1`` has ``cache`` (the key and why it was traced), ``source``
    (lines by file) and ``programs``. A program has ``things`` (nodes of its last graph: all links
    lead to them), ``stages``, ``records`` and ``graphs`` (rows of records), ``groups``, and of a
    block ``labels``: what nodes are called in the program.
    """

    schema = "mixnet.stages/1"
    bundle = "stepper"
    sight = (
        "Select one line of your code, then go through the [stage]s: a Δ marks each [pass] "
        "that changed something."
    )

    def __init__(
        self,
        target: object,
        *inputs: Any,
        train: bool | None = None,
        loss: object = None,
        **named: Any,
    ):
        entries = _entries(target)
        if isinstance(target, Stages):
            subject = target
        else:
            subject = look(target, *inputs, train=train, loss=loss, **named)
        self.stages: Stages | None = subject
        sizes = [len(program.graph["nodes"]) for program in subject.programs]
        state = {"program": sizes.index(max(sizes)), "stage": 1}
        labels: dict[str, str] = {}
        if isinstance(target, HybridBlock):
            (program,) = subject.programs
            labels = labels_of(target, inputs, loss, program, sys._getframe())
        data = payload(subject.to_dict(), entries, subject.programs, labels)
        if isinstance(target, HybridBlock):
            data["programs"][0]["labels"] = labels
        super().__init__(data, state)

    @property
    def selected(self) -> list[str]:
        """Names of the operations of the last graph that the reader has selected."""
        things = self.payload["programs"][self.state.get("program", 0)]["things"]
        return [things[n]["name"] for n in self.state.get("things", ())]

    def select(self, *names: str) -> None:
        """Select operations by their names, the last parts of them, or what they are called in the
        program.

        Raises:
            MXNetError: no operation has such a name.
        """
        program = self.payload["programs"][self.state.get("program", 0)]
        things, labels = program["things"], program.get("labels", {})
        numbers = [
            n
            for n, each in enumerate(things)
            if each["name"].endswith(names) or labels.get(each["name"]) in names
        ]
        if not numbers:
            raise MXNetError(
                f"no operation is named {', '.join(names)}; the names are "
                f"{', '.join(each['name'] for each in things if 'lines' in each)}."
            )
        self.choose(things=numbers)

    def _subjects(self) -> list[tuple[Payload, dict[str, str]]]:
        pieces = {
            f"{n}/{k}": f"piece {k + 1}"
            for n, each in enumerate(self.payload["programs"])
            for k in range(len(each["groups"]))
        }
        return [(self.payload, {"all": self.payload["name"], **pieces})]

    def summary(self) -> str:
        p = self.payload
        text = f"stages of {p['kind']} {p['name']}"
        program = p["programs"][self.state.get("program", 0)]
        graphs = [stage for stage in program["stages"] if "graph" in stage]
        count = [_operations(program, stage["graph"]) for stage in (graphs[0], graphs[-1])]
        pieces = sum("parent" not in each for each in program["groups"])
        text += (
            f": {how_many(count[0], 'recorded operation')}, {count[1]:,} after passes, "
            f"{how_many(pieces, 'piece')} that run{'s' if pieces == 1 else ''}"
        )
        times = program["times"]
        text += f"; compiled in {time_text(times.get('compile', 0))}"
        return text + (f", runs in {time_text(times['run'])}" if "run" in times else "")

    def table(self) -> tuple[list[str], list[list[Any]]]:
        rows = []
        for i, program in enumerate(self.payload["programs"]):
            for n, stage in enumerate(program["stages"], 1):
                time = "" if stage.get("seconds") is None else time_text(stage["seconds"])
                name = f"{i + 1}.{n}" if len(self.payload["programs"]) > 1 else str(n)
                rows.append([name, stage["title"], stage["what"], time, stage["why"]])
        return ["", "stage", "now", "time", "what happens"], rows

    def svg(self) -> str:
        program = self.payload["programs"][self.state.get("program", 0)]
        shown = [stage for stage in program["stages"] if stage["changed"] is not False]
        hidden = len(program["stages"]) - len(shown)
        most = max((stage.get("seconds") or 0 for stage in shown), default=0) or 1
        picture = Svg(900, 34 * len(shown) + 60, self.summary())
        picture.text(
            14,
            22,
            f"{self.payload['kind']} {self.payload['name']}: from code to what runs",
            bold=True,
        )
        for n, stage in enumerate(shown):
            y = 36 + 34 * n
            picture.rect(14, y, 150, 24, f"c{_KINDS[stage['kind']]} s-line", stage["why"], 4)
            picture.text(22, y + 16, stage["title"])
            seconds = stage.get("seconds")
            if seconds is not None:
                picture.rect(174, y + 7, max(1.0, 90 * seconds / most), 10, "m0")
                picture.text(
                    174 + max(1.0, 90 * seconds / most) + 6, y + 16, time_text(seconds), "f-dim", 11
                )
            picture.text(340, y + 16, stage["what"], size=11.5)
            if n + 1 < len(shown):
                picture.path(f"M89,{y + 24} V{y + 33}", arrow=True)
        if hidden:
            picture.text(
                14,
                34 * len(shown) + 50,
                f"{how_many(hidden, 'pass')} that changed nothing {'is' if hidden == 1 else 'are'} omitted.",
                "f-dim",
                11,
            )
        return str(picture)


def _operations(program: dict[str, Any], graph: int) -> int:
    rows = (program["records"][n] for n in program["graphs"][graph])
    return sum(bool(program["strings"][row[1]]) for row in rows)


def _entries(target: object) -> list[dict[str, Any]]:
    """The programs that a block has compiled so far, oldest first, each with its reasons."""
    if not isinstance(target, HybridBlock):
        return []
    rows: list[dict[str, Any]] = []
    before = None
    for key in target.trace_keys():
        rows.append({"key": key_text(key.to_dict()), "reasons": key.reasons(before)})
        before = key
    return rows


@cell_magic("stages")
def stages_magic(line: str, text: str) -> HybridizeStepper:
    """``%%stages``: inspect all stages of a cell's computation, then run the cell.

    The cell is taken as a function without arguments: it is called once to look (in a copy of the
    notebook's names; arrays that it writes hold afterwards what they held), and once as always, so that
    its names are there afterwards. Its stages are those of every segment that it runs.
    ``%%stages --only`` looks and does not run it. What a cell does to other objects (an iterator it
    advances, a list it appends to) is done by both calls.

    Raises:
        MXNetError: the line has words that are not known; there is no IPython.
    """
    words = line.split()
    if unknown := [word for word in words if word != "--only"]:
        raise MXNetError(f"%%stages accepts only --only, not {' '.join(unknown)}.")
    view = HybridizeStepper(cell.function(text))
    if not words:
        run_cell(text)
    return view
