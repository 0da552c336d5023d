"""Decisions: whether a program is interpreted or compiled, and why. Each is recorded when it is made."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Any, NamedTuple

from mixnet.runtime.interpret.patience import NEVER
from mixnet.units import time_text


class Decision(NamedTuple):
    """How a program runs.

    Args:
        way: ``interpreted``, ``compiling`` (it runs as before while another thread compiles it),
            ``compiled``, ``by operator`` (a compiled program for each operation), or ``in parts`` (one for
            each product with what follows it).
        because: what decided it: ``worth`` (compiling costs more than the runs so far), ``runs``
            (a compiled program would have saved as much in them), ``slow`` (compiling saves more than
            it costs in a long first run), ``away`` (a GPU computes it, as NumPy would take long),
            ``setting`` (everything is compiled), ``python`` (another library computes it, so there is
            nothing to compile), ``forked`` (the process was forked, and cannot compile).
        operations: of the program.
        work: estimate of the seconds of an interpreted run; 0 where it was not estimated.
        compiling: estimate of the seconds that compiling takes; 0 where it was not estimated.
        runs: interpreted runs before it is, or was, compiled; ``patience.NEVER`` if it never is.
    """

    way: str
    because: str
    operations: int
    work: float = 0.0
    compiling: float = 0.0
    runs: int = 0


MOST_LINES = 2000
"""Lines of the program whose decisions are recorded; the oldest are forgotten first."""
MOST_OF_A_LINE = 5
"""Decisions of one line: the latest."""

_of_lines: OrderedDict[str, deque[Decision]] = OrderedDict()


def decided(source: str | None, decision: Decision) -> Decision:
    """Record a decision for a line of the user's program.

    Args:
        source: ``file:line``; None: no line is known.
        decision: the decision.
    """
    if source is not None:
        history = _of_lines.get(source)
        if history is None:
            if len(_of_lines) >= MOST_LINES:
                _of_lines.popitem(last=False)
            history = _of_lines[source] = deque(maxlen=MOST_OF_A_LINE)
        history.append(decision)
    return decision


def of_lines() -> dict[str, list[Decision]]:
    """Decisions by line, ``file:line``, the oldest first."""
    return {line: list(history) for line, history in _of_lines.copy().items()}


def clear() -> None:
    """Forget all decisions."""
    _of_lines.clear()


def sentence(decision: Decision | list[Any]) -> str:
    """A decision in words."""
    way, because, operations, work, compiling, runs = decision
    size = "1 operation" if operations == 1 else f"{operations:,} operations"
    if because == "away":
        return _on_device(way, size, runs)
    if way == "by operator":
        return (
            f"Each of its {size} ran as a compiled program of its own: few of them were new, so "
            "that is quicker than "
            "compiling all as one. If the same operations come again, they are compiled as one program."
        )
    estimate = f"one interpreted run is estimated at {time_text(work)}, compiling at {time_text(compiling)}"
    runs_text = "1 run" if runs == 1 else f"{runs:,} runs"
    if because == "python":
        return (
            "It was interpreted: another library computes it, such as a backend, so there is "
            "nothing to compile."
        )
    if because == "forked":
        return (
            f"It was interpreted, its {size} one by one on NumPy: a process that was forked from one that "
            "has computed has none of XLA's threads, so it cannot compile."
        )
    if way == "interpreted" and runs == NEVER:
        return (
            f"It was interpreted, its {size} one by one on NumPy: {estimate}. A compiled program would not "
            "be faster: it takes longer to start."
        )
    if way == "interpreted":
        return (
            f"It was interpreted, its {size} one by one on NumPy: {estimate}. After {runs_text} a "
            "compiled program would have saved that time, and it is compiled."
        )
    if way == "compiling":
        return (
            f"It was still interpreted, while another thread compiled it: in {runs_text} a "
            f"compiled program would have saved what compiling costs ({estimate})."
        )
    reasons = {
        "runs": f"after {runs_text} that were interpreted, in which it would have saved what "
        f"compiling costs: {estimate}",
        "slow": f"before its first run: {estimate}, and a run above a second is not interpreted if it "
        "would be shorter by more than compiling takes",
        "setting": "before its first run: MIXNET_INTERPRET=0 or mx.runtime.compiling_at_once() asks for that",
    }
    return f"It was compiled, {size} as one program, {reasons[because]}."


def _on_device(way: str, size: str, runs: int) -> str:
    parts = "on the GPU in parts: a program for each product with the operations behind it"
    if way == "in parts":
        return (
            f"Its {size} ran {parts}. These are compiled at the same time, and equal ones once, so the first "
            f"result comes sooner. After {runs} runs another thread compiles all as one program."
        )
    if way == "compiling":
        return f"Its {size} still ran {parts}, while another thread compiled all as one program."
    return f"It was compiled, {size} as one program, by another thread; until then it ran {parts}."
