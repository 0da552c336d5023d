"""Look: linked panes of everything that is known of a program."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

from mixnet.base import MXNetError
from mixnet.gluon.block import HybridBlock
from mixnet.units import count_text, how_many, size_text, time_text
from mixnet.widgets import live
from mixnet.widgets.failure import error_line
from mixnet.widgets.graph.attributes import program_names
from mixnet.widgets.graph.payload import Reader, payload_of
from mixnet.widgets.look.picture import engine_in_program, picture
from mixnet.widgets.look.pieces import Piece, pieces_of_graph, pieces_of_stages
from mixnet.widgets.look.run import Run
from mixnet.widgets.look.source import source_of
from mixnet.widgets.look.subject import Subject, subject_of
from mixnet.widgets.memory.plans import in_program
from mixnet.widgets.sight import sight
from mixnet.widgets.view import View
from mixnet.widgets.why.compiled import traces_of
from mixnet.widgets.why.question import Payload, answers
from mixnet.widgets.why.still import arrays_by_key, tasks_by_key

GRAPH_SIGHT = (
    "Nothing has a place in memory here: select a [node] in the graph, and the other panes mark "
    "what belongs to it."
)


class Look(View):
    """Source, graph, memory, engine, what runs, and numbers, side by side.

    Choose a line, an operation, an array in memory, a task or a piece of the program: all other
    panes show the same thing. The slider moves through the steps of the schedule, and all panes
    follow. The target is not changed: times and numbers come from a separate run.

    Args:
        target: a ``HybridBlock``; a ``Symbol``, or the path of its JSON file; a ``Module``; the path
            of an ONNX file; a function of NDArrays; a function of JAX arrays, called with JAX or
            NumPy arrays or trees of them; a torch module with tensors.
        inputs: the arguments of the call. If the block takes one array, a second array is the
            label: forward, loss and gradients are shown. Inputs of an ONNX file or a module that
            get no array are random numbers in the shapes that these have.
        train: with gradients; by default if there is a loss.
        loss: for a block, called on its output and the last input; by default, if there is a
            label, ``SoftmaxCrossEntropyLoss``.
        run: run it, operator by operator as tasks of the engine, for times and numbers.
        compile: compile it, for what runs; that takes seconds for a large network. In a notebook,
            the other panes are shown first.
        title: shown; by default the target's name.
        named: for a symbol or file, arrays or shapes by name; for a function, its keyword arguments.

    Raises:
        AttributeTypeError: the target is none of these, or does not take these inputs.

    State: ``node`` (number of an operation), ``at`` (step of the schedule), ``line``, ``piece``,
    ``wide`` (the enlarged pane: ``source``, ``graph``, ``memory``, ``engine``, ``runs``,
    ``numbers``).

    Source: the payload ``mixnet.look/1`` has ``graph``, ``memory`` and ``engine``, which are the
    payloads of these views; ``source`` (lines by file) and ``places`` (of each row of the
    graph); ``pieces`` (with their rows); ``numbers`` of each row; ``labels``, the names of rows
    in the program; ``missing``, why a pane is empty; ``lowered``, the operator and method of
    rows that run as another operator; ``traces``, what a block has compiled; ``why``, answers.
    """

    schema = "mixnet.look/1"
    bundle = "look"
    sight = (
        "The slider is at the [peak]: every pane marks this [step], as a source line, a "
        "[node], an array in the [memory plan], a [task] of the engine and a [piece] that "
        "runs."
    )

    def __init__(
        self,
        target: object,
        *inputs: Any,
        train: bool | None = None,
        loss: object = None,
        run: bool = True,
        compile: bool = True,
        title: str | None = None,
        **named: Any,
    ):
        subject = subject_of(target, inputs, train, loss, named, sys._getframe())
        later = compile and live.available() and live.finds_its_place()
        payload = payload_of_subject(subject, title, target, run, compile and not later)
        if later:
            payload["missing"]["runs"] = "It is being compiled; this pane appears when it is ready."
        at = _peak(payload["memory"])
        first = {} if at is not None else {"sight": sight(GRAPH_SIGHT)}
        super().__init__({**first, **payload}, {"at": at, "node": self._row_at(payload, at)})
        if later:
            self._later = lambda: with_pieces(self._payload, subject)
            live.after_cell(self._complete)  # it does not keep the network for longer

    def _complete(self) -> None:
        later, self._later = self._later, None
        if later is None:
            return
        payload = self._payload
        try:
            payload = later()
        except BaseException as error:
            reason = {"runs": f"Not compiled: {error_line(error)}"}
            payload = {**payload, "missing": {**payload["missing"], **reason}}
            raise
        finally:
            self.payload = payload

    def _ipython_display_(self) -> None:
        later, self._later = self._later, None  # what is known now is shown first
        super()._ipython_display_()
        self._later = later
        self._complete()

    _later: Callable[[], dict[str, Any]] | None = None  # compiles, and returns the whole payload

    @staticmethod
    def _row_at(payload: dict[str, Any], at: int | None) -> int | None:
        """The row of a step of the schedule."""
        if at is None:
            return None
        name = payload["memory"]["graphs"][0]["steps"]["name"][at]
        names = payload["graph"]["names"]
        return names.index(name) if name in names else None

    @property
    def selected(self) -> str | None:
        """Name of the operation that is selected."""
        node = self.state.get("node")
        return None if node is None else self.payload["graph"]["names"][node]

    def select(self, name: str) -> None:
        """Select an operation by its name in the graph or in the program (``conv1``).

        Raises:
            MXNetError: nothing has this name.
        """
        names, labels = self.payload["graph"]["names"], self.payload["labels"]
        matches = [n for n in names if name in (n, labels.get(n))]
        if not matches:
            raise MXNetError(
                f"nothing is named {name!r}; the names are {', '.join(labels.values() or names)}."
            )
        number, memory = names.index(matches[0]), self.payload["memory"]
        steps = [] if memory is None else memory["graphs"][0]["steps"]["name"]
        at = steps.index(matches[0]) if matches[0] in steps else self.state.get("at")
        self.choose(node=number, at=at, line=None, piece=None)

    def _subjects(self) -> list[tuple[Payload, dict[str, str]]]:
        p = self.payload
        labels = p["labels"]
        rows = {str(i): labels.get(name, name) for i, name in enumerate(p["graph"]["names"])}
        subjects: list[tuple[Payload, dict[str, str]]] = [(p, {"all": p["graph"]["title"], **rows})]
        if p["memory"] is not None:
            subjects.append((p["memory"], arrays_by_key(p["memory"], labels)))
        if p["engine"] is not None:
            subjects.append((p["engine"], tasks_by_key(p["engine"], labels)))
        return subjects

    def summary(self) -> str:
        p = self.payload
        read = Reader(p["graph"])
        operations = sum(op is not None for op in read.ops)
        count = how_many(operations, "operation")
        parts = [f"{p['graph']['title']}: {count}, {p['graph']['direction']}"]
        if total := sum(read.flops):
            parts.append(count_text(total, "FLOP"))
        if p["memory"] is not None:
            parts.append(f"at most {size_text(_both(p['memory'])['peak']['bytes'])} at once")
        if p["pieces"]:
            pieces = sum("parent" not in each for each in p["pieces"])
            parts.append(f"{how_many(pieces, 'piece')} that run{'s' if pieces == 1 else ''}")
        if p["graph"]["error"]:
            parts.append("shapes do not match")
        return ", ".join(parts)

    def table(self) -> tuple[list[str], Iterable[Iterable[Any]]]:
        p = self.payload
        read = Reader(p["graph"])
        ran = _times(p["engine"])
        rows = []
        for i, op in enumerate(read.ops):
            if op is None:
                continue
            out = read.outputs[i]
            pieces = [str(k + 1) for k, each in enumerate(p["pieces"]) if i in each["rows"]]
            stats = p["numbers"][i] if p["numbers"] is not None else None
            rows.append(
                [
                    p["labels"].get(read.names[i], read.names[i]),
                    op,
                    read.source(i),
                    "×".join(map(str, out[0][0])) if out else "?",
                    size_text(read.bytes[i]) if out else "?",
                    count_text(read.flops[i]) if out else "?",
                    time_text(ran[read.names[i]]) if read.names[i] in ran else "",
                    ", ".join(pieces[:6]),
                    f"{stats[0][0]} … {stats[0][1]}" if stats else "",
                ]
            )
        header = [
            "operation",
            "operator",
            "line",
            "output",
            "bytes",
            "FLOPs",
            "ran",
            "pieces",
            "values",
        ]
        return header, rows or [["nothing is computed", *[""] * 8]]

    def svg(self) -> str:
        return picture(self.payload, self.state, self.summary())


def payload_of_subject(
    subject: Subject, title: str | None, target: object, run: bool, compile: bool
) -> dict[str, Any]:
    """The payload of a subject; see :class:`Look`."""
    picture = subject.pictured
    if title is not None:
        picture.title = title
    missing: dict[str, str] = {}
    if not run:
        missing["engine"] = "Omitted: run=False."
    if not compile:
        missing["runs"] = "Omitted: compile=False."
    files, places = source_of(subject.target, picture.rows)
    ran = _ran(subject, missing) if run else None
    memory = _memory(subject, missing)
    labels = program_names(picture)
    if memory is not None:
        memory["why"] = answers(in_program(memory, labels))
    if ran is not None:
        ran.timeline["why"] = answers(engine_in_program(ran.timeline, labels))
    payload = {
        "graph": {**payload_of(picture), "live": False},
        "source": files,
        "places": places,
        "labels": labels,
        "memory": memory,
        "pieces": [],
        "lowered": {},
        "traces": traces_of(target.trace_keys()) if isinstance(target, HybridBlock) else [],
        "engine": None if ran is None else ran.timeline,
        "numbers": None if ran is None else ran.numbers,
        "notes": subject.notes,
        "missing": missing,
    }
    return with_pieces(payload, subject) if compile else payload


def with_pieces(payload: dict[str, Any], subject: Subject) -> dict[str, Any]:
    """The payload with what the compiler makes of the subject."""
    missing = {pane: why for pane, why in payload["missing"].items() if pane != "runs"}
    pieces, lowered = _pieces(subject, missing)
    return {**payload, "pieces": pieces, "lowered": lowered, "missing": missing}


def _ran(subject: Subject, missing: dict[str, str]) -> Run | None:
    if subject.values is None:
        known = _no_arrays(subject) if subject.memory is not None else _unknown(subject)
        missing["engine"] = subject.idle or known
        return None
    try:
        return Run(subject.pictured, subject.values)
    except Exception as error:
        # An operator of a plug-in may raise anything; the other panes are still valid.
        missing["engine"] = f"The run ended: {error_line(error)}"
        return None


def _no_arrays(subject: Subject) -> str:
    if not subject.absent:
        return "Nothing ran: some inputs have no array. Pass arrays instead of shapes."
    shown, more = ", ".join(subject.absent[:3]), len(subject.absent) - 3
    rest = f" and {how_many(more, 'other input')}" if more > 0 else ""
    verb = "has" if len(subject.absent) == 1 else "have"
    return (
        f"Nothing ran: {shown}{rest} {verb} no array. Pass arrays by name: {subject.absent[0]}=x."
    )


def _memory(subject: Subject, missing: dict[str, str]) -> dict[str, Any] | None:
    missing["memory"] = _unknown(subject)
    if subject.memory is None:
        return None
    try:
        memory = subject.memory()
    except MXNetError as error:
        missing["memory"] = error_line(error)
        return None
    del missing["memory"]
    return memory


def _pieces(subject: Subject, missing: dict[str, str]) -> tuple[list[Piece], dict[str, list[Any]]]:
    """The pieces that run, and the rows that run as other operators."""
    picture = subject.pictured
    if subject.runs:
        missing["runs"] = subject.runs
        return [], {}
    if subject.staged is not None:
        try:
            return pieces_of_stages(picture, subject.staged())
        except MXNetError as error:
            missing["runs"] = error_line(error)
            return [], {}
    if picture.graph is None or picture.inputs is None:
        missing["runs"] = _unknown(subject)
        return [], {}
    return pieces_of_graph(picture, picture.graph, picture.inputs), {}


def _unknown(subject: Subject) -> str:
    """Why there is no single graph whose shapes are all known."""
    if subject.pictured.error is not None:
        return "Shapes do not match; the graph marks where."
    notes = [*subject.notes, *subject.pictured.notes]
    return notes[-1] if notes else "The shapes of some arrays are unknown."


def _both(memory: dict[str, Any]) -> dict[str, Any]:
    """The plan that is shown first."""
    return next(each for each in memory["plans"] if each["name"] == "both")


def _peak(memory: dict[str, Any] | None) -> int | None:
    if memory is None or not memory["graphs"][0]["length"]:
        return None
    return int(_both(memory)["peak"]["at"])


def _times(engine: dict[str, Any] | None) -> dict[str, float]:
    """Seconds that each operation ran, by name."""
    if engine is None:
        return {}
    run = engine["runs"][0]
    ops, strings = run["ops"], run["strings"]
    return {strings[name]: ran / 1e9 for name, ran in zip(ops["name"], ops["ran"], strict=True)}
