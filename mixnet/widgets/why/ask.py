"""``mx.why``: its possible subjects, and the sources of its answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mixnet.base import AttributeTypeError, MXNetError
from mixnet.gluon.block import HybridBlock
from mixnet.ndarray.ndarray import NDArray
from mixnet.runtime.programs import decision
from mixnet.units import how_many
from mixnet.widgets.look.view import Look
from mixnet.widgets.memory.view import MemoryView
from mixnet.widgets.scaling.view import ScalingView
from mixnet.widgets.stepper.view import HybridizeStepper
from mixnet.widgets.timeline.view import EngineTimeline
from mixnet.widgets.why import compiled, fused, holders, kept, layout, ran, slower, waited
from mixnet.widgets.why.question import Answer, answers_of

Keys = Iterator[tuple[dict[str, Any], str, str]]


ANSWERING = (compiled, fused, kept, layout, ran, slower, waited)
"""Modules that declare questions; importing them registers the questions."""


class Answers(list[Answer]):
    """A list of answers that prints one paragraph for each."""

    def __str__(self) -> str:
        return "\n\n".join(map(str, self)) or "No data was recorded that would answer this."

    __repr__ = __str__


def why(thing: object = None, name: str | None = None) -> Answers:
    """Why something is the way it is, from recorded facts; this runs nothing.

    Args:
        thing: a hybridized block (why was it compiled again), an array (why is it alive), or a view: a
            ``Look``, ``MemoryView``, ``EngineTimeline``, ``HybridizeStepper`` or
            ``ScalingView``. A string, ``"train.py:12"``: what this line of the program had run,
            whether it was interpreted or compiled, and what decided that. None: which lines of
            the program were compiled more than once, and what differed.
        name: for a view, the name of the operation, array or task in question; by default the
            selection or, without one, the whole view.

    Returns:
        A list of :class:`~mixnet.widgets.why.question.Answer`, which prints as text.

    Raises:
        AttributeTypeError: ``thing`` is none of these.
        MXNetError: nothing in the view has this name, or this line of the program has run nothing.
    """
    if thing is None:
        return Answers(compiled.of_lines())
    if isinstance(thing, str) and name is None:
        return _of_line(thing)
    for kind, keys in _VIEWS.items():
        if isinstance(thing, kind):
            return Answers(
                answer
                for payload, key, of in keys(thing, name)
                for answer in answers_of(payload, key, of)
            )
    if name is not None:
        raise AttributeTypeError(
            f"why: a name ({name!r}) asks about a part of a view; {type(thing).__name__} is not a "
            "view."
        )
    if isinstance(thing, HybridBlock):
        return Answers([compiled.of_block(thing)])
    if isinstance(thing, NDArray):
        return Answers([holders.of_array(thing)])
    raise AttributeTypeError(
        f"why: {type(thing).__name__} has no recorded data. Ask about a HybridBlock, an "
        "NDArray or a view such as "
        f"mx.look(net, x); mx.why() without arguments lists the lines that were compiled again."
    )


def _of_line(line: str) -> Answers:
    """Answers about the programs of a line, compiled or interpreted.

    Raises:
        MXNetError: nothing of this line is recorded.
    """
    recompiled = [each for each in compiled.of_lines() if f"{line} on" in each.of]
    answers = Answers([*ran.of_line(line), *recompiled])
    if not answers:
        known = ", ".join(list(decision.of_lines())[-10:]) or "none so far"
        raise MXNetError(
            f"why: no program is recorded for the line {line!r}; expected file:line, the latest "
            f"are {known}."
        )
    return answers


def _numbers(names: list[str], name: str, labels: dict[str, str] | None = None) -> list[int]:
    """Places of a name.

    Raises:
        MXNetError: there is none.
    """
    numbers = [i for i, each in enumerate(names) if name in (each, (labels or {}).get(each))]
    if not numbers:
        known = ", ".join(
            list(dict.fromkeys((labels or {}).get(each, each) for each in names))[:20]
        )
        raise MXNetError(f"why: nothing is named {name!r}; the names are {known}.")
    return numbers


def _of_memory(view: MemoryView, name: str | None) -> Keys:
    p, graph = view.payload, view.plan()["graph"]
    g = p["graphs"][graph]
    names = [g["steps"]["name"][step] for step in g["arrays"]["step"]]
    if name is None:
        number = view.state.get("selected")
        chosen = [] if number is None else [number]
    else:
        chosen = _numbers(names, name)
    for i in chosen:
        yield p, f"{graph}/{i}", names[i]


def _of_timeline(view: EngineTimeline, name: str | None) -> Keys:
    for r, run in enumerate(view.payload["runs"]):
        names = [run["strings"][each] if each >= 0 else "" for each in run["ops"]["name"]]
        if name is None:
            selected = view.state.get("selected")
            chosen = [selected[1]] if selected and selected[0] == r else []
        else:
            chosen = _numbers(names, name)
        for i in chosen:
            yield view.payload, f"{r}/{i}", names[i]


def _of_look(view: Look, name: str | None) -> Keys:
    p = view.payload
    names, labels = p["graph"]["names"], p["labels"]
    if name is None and view.state.get("node") is None:
        yield p, "all", p["graph"]["title"]
        return
    row = view.state["node"] if name is None else _numbers(names, name, labels)[0]
    of = labels.get(names[row], names[row])
    yield p, str(row), of
    if p["memory"] is not None:
        graph = p["memory"]["graphs"][0]
        steps = graph["steps"]["name"]
        for i, step in enumerate(graph["arrays"]["step"]):
            if steps[step] == names[row]:
                yield p["memory"], f"0/{i}", of
    if p["engine"] is not None:
        run = p["engine"]["runs"][0]
        for i, each in enumerate(run["ops"]["name"]):
            if run["strings"][each] == names[row]:
                yield p["engine"], f"0/{i}", of


def _of_stepper(view: HybridizeStepper, name: str | None) -> Keys:
    p, number = view.payload, view.state.get("program", 0)
    things = p["programs"][number]["things"]
    if name is not None:
        chosen = _numbers(
            [each["name"] for each in things], name, p["programs"][number].get("labels")
        )
    else:
        chosen = view.state.get("things") or []
    if not chosen:
        yield p, "all", p["name"]
    pieces = {group for item in chosen for group in things[item].get("groups") or ()}
    for group in sorted(pieces):
        yield p, f"{number}/{group}", f"piece {group + 1}"


def _of_scaling(view: ScalingView, name: str | None) -> Keys:
    if name is not None:
        raise MXNetError(
            f"why: a ScalingView answers only as a whole, not about {name!r}; leave out the name."
        )
    for r, run in enumerate(view.payload["runs"]):
        for i, point in enumerate(run["points"]):
            yield view.payload, f"{r}/{i}", f"{run['label']}, {how_many(point['n'], 'device')}"


_VIEWS: dict[type, Any] = {
    Look: _of_look,
    MemoryView: _of_memory,
    EngineTimeline: _of_timeline,
    HybridizeStepper: _of_stepper,
    ScalingView: _of_scaling,
}
