"""Lines of user code that compile: warnings if one keeps doing so, and a message if a program takes long."""

from __future__ import annotations

import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from mixnet import config
from mixnet.base import CompileWarning
from mixnet.ops.operator import Operator
from mixnet.runtime.compile.program_key import ProgramKey
from mixnet.runtime.value.call import Call
from mixnet.units import time_text


@dataclass(slots=True)
class _Line:
    """The programs that a line of user code has compiled on a device."""

    programs: int = 0
    last_key: ProgramKey | None = None
    reasons: Counter[str] = field(default_factory=Counter)  # why another program was necessary


_lines: dict[tuple[str, Any], _Line] = {}
_MOST_REASONS = 50  # stored for a line; with new shapes in every call, each has another reason
_limit: int = config.get("MIXNET_COMPILE_WARNING")


def watch(source: str | None, key: ProgramKey) -> None:
    """Record that a read at ``source`` compiled a program; warn if that happens often.

    The same computation on several devices needs a program for each, so devices are counted separately.

    Args:
        source: ``file:line`` of the user's code.
        key: the program's key.
    """
    if source is None:
        return
    line = _lines.setdefault((source, key.context), _Line())
    before, line.last_key = line.last_key, key
    line.programs += 1
    if before is None:
        return
    reason = difference(before, key)
    if reason in line.reasons or len(line.reasons) < _MOST_REASONS:
        line.reasons[reason] += 1
    if line.programs == _limit:
        warnings.warn(
            f"{source} has compiled {_limit} programs, each for a new computation. The "
            f"last differs from the one before: {reason}. Compiling takes longer "
            f"than running: keep shapes equal (pad, or drop the last batch), and let numbers that "
            f"change be arrays or operands rather than attributes. "
            f"MIXNET_COMPILE_WARNING=0 switches this warning off.",
            CompileWarning,
            stacklevel=2,
        )


@contextmanager
def reported(source: str | None, key: ProgramKey) -> Iterator[None]:
    """Scope in which the thread waits for a program; prints a message if it takes long."""
    watch(source, key)
    timer = threading.Timer(_REPORT_AFTER, _tell, (source, key, time.perf_counter()))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


_REPORT_AFTER = 2.0  # seconds


def _tell(source: str | None, key: ProgramKey, start: float) -> None:
    where = f" for {source}" if source else ""
    names = Counter(_names(item[0].op) for item in key.operations)
    kinds = ", ".join(name for name, _ in names.most_common(3))
    seconds = time.perf_counter() - start
    print(
        f"mixnet: compiling {kinds}{where}: {time_text(round(seconds))} so far; it is done once.",
        file=sys.stderr,
        flush=True,
    )


def _names(op: Operator) -> str:
    return op.name if op.graph is None else f"{op.name} ({len(op.graph.nodes):,} nodes)"


def difference(before: ProgramKey, now: ProgramKey) -> str:
    """The difference between two programs, in the user's terms."""
    first, second = ([item[0] for item in key.operations] for key in (before, now))
    if len(first) != len(second):
        return f"{len(second)} operations instead of {len(first)}"
    for a, b in zip(first, second, strict=True):
        if a.op is not b.op:
            return f"operator {b.op.name} instead of {a.op.name}"
        if a.specs != b.specs:
            for aspect, facts in _FACTS.items():
                was, is_now = (
                    ", ".join(str(facts(each)) for each in call.specs) for call in (a, b)
                )
                if was != is_now:
                    return f"{b.op.name} gets {aspect} {is_now} instead of {was}"
        if a.statics != b.statics:
            return f"{b.op.name} has {_attributes(a, b)}"
    if before.slots != now.slots:
        return "other results are still held"
    return "other arrays are held, or on another device"


_FACTS: dict[str, Any] = {
    "shapes": lambda spec: spec.shape,
    "dtypes": lambda spec: spec.dtype.name,
    "arrays on": lambda spec: spec.context,
}


def _attributes(before: Call, now: Call) -> str:
    """Which attributes of an operation changed."""
    was, is_now = (each.op.keywords(each.statics) for each in (before, now))
    changed = [
        f"{key}={is_now[key]!r:.40} instead of {was.get(key)!r:.40}"
        for key in is_now
        if was.get(key) != is_now[key]
    ]
    return ", ".join(changed) or "other attributes"


def history() -> list[dict[str, Any]]:
    """Lines that compiled more than one program, sorted by count, descending.

    Returns:
        ``{"line": "file:line", "device", "programs", "reasons": [(text, times), ...]}`` for each
        line and device.
    """
    rows = [
        {
            "line": source,
            "device": str(device),
            "programs": line.programs,
            "reasons": line.reasons.most_common(),
        }
        for (source, device), line in _lines.copy().items()
        if line.programs > 1
    ]
    return sorted(rows, key=lambda row: -row["programs"])


def reset() -> None:
    """Clear the history."""
    _lines.clear()
