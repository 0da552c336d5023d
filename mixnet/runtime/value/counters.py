"""User-visible counters of the runtime: programs compiled, cache hits, flushes."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from mixnet.process import locks

_counts: defaultdict[str, int] = defaultdict(int)
_lock = locks.make("counters")


_NAMES = (
    "programs_compiled",
    "cache_hits",
    "operations",
    "interpreted",
    "run_by_operator",
    "run_in_parts",
    "donated_bytes",
)


def count(name: str, by: int = 1, operations: int = 0) -> None:
    """Add to a counter, and to that of ``operations``."""
    with _lock:  # workers count too
        _counts[name] += by
        if operations:
            _counts["operations"] += operations


def counters() -> dict[str, Any]:
    """All counters since the start or :func:`reset_counters`.

    ``programs_compiled``, ``cache_hits``, ``operations`` (that ran in programs), ``interpreted`` (those of
    them, graphs counted by their operations, that ran without the compiler), ``run_by_operator`` (those that
    ran one by one, each compiled, in a segment seen for the first time), ``run_in_parts`` (parts of programs
    of a GPU that ran before the whole was compiled), ``donated_bytes``, and ``flushes`` by reason.
    """
    counts = _counts.copy()  # other threads count meanwhile
    plain = {name: counts.get(name, 0) for name in _NAMES}
    reasons = {k[6:]: v for k, v in sorted(counts.items()) if k.startswith("flush:")}
    return {**plain, "flushes": reasons}


def reset_counters() -> None:
    """Set every counter to zero."""
    with _lock:
        _counts.clear()
