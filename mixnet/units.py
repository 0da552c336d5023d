"""Bytes and seconds for people."""

from __future__ import annotations


def size_text(size: float) -> str:
    """Bytes in the unit that suits them: ``1.5 MB`` (powers of 1,000)."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(size) < 1000:
            return f"{size:.0f} B" if unit == "B" else f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"


def time_text(seconds: float) -> str:
    """Seconds in the unit that suits them: ``12.3 µs``, ``4.5 ms``, ``1.2 s``."""
    for scale, unit in ((1e-6, "ns"), (1e-3, "µs"), (1, "ms")):
        if abs(seconds) < scale:
            return f"{seconds / scale * 1000:.3g} {unit}"
    return f"{seconds:.3g} s"
