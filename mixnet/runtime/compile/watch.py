"""A warning, once a line, when a line of user code keeps compiling new programs."""

from __future__ import annotations

import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mixnet import config
from mixnet.base import CompileWarning

# user's line and device -> how many it compiled, the last key
_programs: dict[tuple[str, Any], list[Any]] = {}
_limit: int = config.get("MIXNET_COMPILE_WARNING")


def watch(source: str | None, key: Any) -> None:
    """Note that a program was compiled for a read at ``source``; warn if that happens often.

    The same computation on several devices is a program for each, so devices are counted apart.

    Args:
        source: ``file:line`` of the user's code.
        key: the program's key.
    """
    if source is None or not _limit:
        return
    found = _programs.setdefault((source, key[3]), [0, None])
    before, found[1] = found[1], key
    found[0] += 1
    if found[0] == _limit:
        warnings.warn(
            f"{source} has compiled {_limit} programs, each for a computation that was new. The "
            f"last differs from the one before: {difference(before, key)}. Compiling takes longer "
            f"than running: keep shapes equal (pad, or drop the last batch), and let numbers that "
            f"change be arrays or operands rather than attributes. "
            f"MIXNET_COMPILE_WARNING=0 switches this warning off.",
            CompileWarning,
            stacklevel=2,
        )


@contextmanager
def told(source: str | None, key: Any) -> Iterator[None]:
    """Scope in which a program is waited for: noted, and told of if it takes long."""
    watch(source, key)
    timer = threading.Timer(_PATIENCE, _tell, (source, key, time.perf_counter()))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


_PATIENCE = 2.0  # seconds


def _tell(source: str | None, key: Any, start: float) -> None:
    where = f" for {source}" if source else ""
    names = Counter(_names(item[0].op) for item in key[0])
    kinds = ", ".join(name for name, _ in names.most_common(3))
    seconds = time.perf_counter() - start
    print(
        f"mixnet: compiling {kinds}{where}: {seconds:.0f} s so far; it is done once.",
        file=sys.stderr,
        flush=True,
    )


def _names(op: Any) -> str:
    return op.name if op.graph is None else f"{op.name} ({len(op.graph.nodes):,} nodes)"


def difference(before: Any, now: Any) -> str:
    """What makes the second program another than the first, in the user's terms."""
    first, second = ([item[0] for item in key[0]] for key in (before, now))
    if len(first) != len(second):
        return f"{len(second)} operations instead of {len(first)}"
    for a, b in zip(first, second, strict=True):
        if a.op is not b.op:
            return f"operator {b.op.name} instead of {a.op.name}"
        if a.specs != b.specs:
            shapes = [", ".join(str(spec.shape) for spec in each.specs) for each in (a, b)]
            return f"{b.op.name} gets shapes {shapes[1]} instead of {shapes[0]}"
        if a.statics != b.statics:
            return f"{b.op.name} has other attributes"
    if before[1] != now[1]:
        return "other results are still held"
    return "other arrays are held, or on another device"


def reset() -> None:
    """Forget what was compiled where."""
    _programs.clear()
