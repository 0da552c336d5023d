"""Bytes, seconds and counts for people: one rule for every text, axis and table.

Three digits, and the unit that leaves one to three of them before the point. Units are powers of
1,000, for bytes too: 1 kB is 1,000 bytes, 1 MB is 1,000,000. A minute and more has two units, as on a clock:
``1 h 23 min``. ``widgets/src/core/format.js`` writes the same texts.
"""

from __future__ import annotations

import math
import re

_LONG = (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1))
_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)


def size_text(size: float) -> str:
    """Bytes: ``640 B``, ``1.5 MB``."""
    return _scaled(
        math.floor(size + 0.5) if abs(size) < 999.5 else size, "B", "kB", "MB", "GB", "TB"
    )


def time_text(seconds: float) -> str:
    """Seconds: ``12.3 µs``, ``4.5 ms``, ``1.2 s``, ``1 min 30 s``, ``2 h``, ``1 d 4 h``."""
    if seconds == 0:
        return "0 s"
    if 59.95 <= abs(seconds) < math.inf:
        return _long_time_text(seconds)
    for scale, unit in ((1e-6, "ns"), (1e-3, "µs"), (1, "ms")):
        number = digits(seconds / scale * 1000)
        if abs(float(number)) < 1000:
            return f"{number} {unit}"
    return f"{digits(seconds)} s"


def _long_time_text(seconds: float) -> str:
    sign, rounded = "-" if seconds < 0 else "", math.floor(abs(seconds) + 0.5)
    unit, size, smaller, part = next(each for each in _LONG if rounded >= each[1])
    many, rest = divmod(math.floor(rounded / part + 0.5), size // part)
    return f"{sign}{many:,} {unit}" + (f" {rest} {smaller}" if rest else "")


def count_text(number: float, of: str = "") -> str:
    """A count: ``12``, ``1.23 k``, ``4.5 GFLOP``."""
    return _scaled(number, *(prefix + of for prefix in ("", "k", "M", "G", "T"))).strip()


def how_many(number: int, of: str) -> str:
    """A number of things, in the plural unless it is 1: ``1 box``, ``2,000 boxes``. The plural is regular."""
    return f"{number:,} {of if number == 1 else _plural(of)}"


def share_text(share: float) -> str:
    """A share, in percent with at most one digit after the point: ``12.5%``, as Python writes it."""
    text = f"{round(100 * share, 1) + 0.0:.1f}"  # + 0.0 makes a negative zero positive
    return f"{text.removesuffix('.0')}%"


def signed_share(share: float) -> str:
    """A difference as a share, with its sign: ``+1.5%``."""
    text = share_text(share)
    return f"+{text}" if share > 0 and text != "0%" else text


def digits(number: float) -> str:
    """Three digits, with an exponent only far from 1: ``0.0123``, ``1240``, ``1.2e-07``."""
    if not math.isfinite(number):
        return str(number)
    rounded = float(f"{number:.2e}")
    if rounded == 0:
        return "0"
    if 1e-4 <= abs(rounded) < 1e6:
        places = max(2 - math.floor(math.log10(abs(rounded))), 0)
        text = f"{rounded:.{places}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"{rounded:.3g}"


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers from ``low`` to ``high``, at most ``most`` and two: steps of 1, 2 or 5 times
    a power of ten.
    """
    span = high - low
    if not span > 0:
        return [low]
    step = 10.0 ** math.floor(math.log10(span / most))
    step *= next(factor for factor in (1, 2, 5, 10, 20) if span / (step * factor) <= most)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def time_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """The same for seconds: from a second on, steps that are round on a clock."""
    span = high - low
    if not span > most:
        return ticks(low, high, most)
    step = next((each for each in _STEPS if span / each <= most), None)
    if step is None:
        return [86400 * day for day in ticks(low / 86400, high / 86400, most)]
    first = math.ceil(low / step - 1e-9)
    return [float(k * step) for k in range(first, math.floor(high / step + 1e-9) + 1)]


def _plural(of: str) -> str:
    if re.search("[^aeiou]y$", of):
        return f"{of[:-1]}ies"
    return f"{of}es" if of.endswith(("s", "x", "ch", "sh")) else f"{of}s"


def _scaled(number: float, *units: str) -> str:
    for unit in units[:-1]:
        text = digits(number)
        if abs(float(text)) < 1000:
            return f"{text} {unit}"
        number /= 1000
    return f"{digits(number)} {units[-1]}"
