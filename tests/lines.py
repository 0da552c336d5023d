"""Lines of test files that their tests refer to."""

from __future__ import annotations

import inspect
from pathlib import Path


def line_of(file: str, mark: str) -> int:
    """The number of the only line of a file that ends in ``# mark``."""
    rows = Path(file).read_text(encoding="utf-8").splitlines()
    (number,) = [i for i, row in enumerate(rows, 1) if row.endswith("# " + mark)]
    return number


def line_within(cls: type, words: str) -> int:
    """The number of the first line of a class with these words in it."""
    lines, first = inspect.getsourcelines(cls)
    return first + next(i for i, line in enumerate(lines) if words in line)
