"""Counters of the runtime that a user can read: programs compiled, cache hits, flushes."""

from __future__ import annotations

from collections import Counter
from typing import Any

_counts: Counter[str] = Counter()


def count(name: str, by: int = 1) -> None:
    """Add to a counter."""
    _counts[name] += by


def counters() -> dict[str, Any]:
    """All counters since the start or :func:`reset_counters`.

    ``programs_compiled``, ``cache_hits``, ``operations`` (that ran in programs),
    ``donated_bytes``, and ``flushes`` by reason.
    """
    plain = {
        name: _counts[name]
        for name in ("programs_compiled", "cache_hits", "operations", "donated_bytes")
    }
    reasons = {k[6:]: v for k, v in sorted(_counts.items()) if k.startswith("flush:")}
    return {**plain, "flushes": reasons}


def reset_counters() -> None:
    """Set every counter to zero."""
    _counts.clear()
