"""Run the Python of Markdown pages: ``python run_blocks.py PAGE...`` prints what failed as JSON.

The blocks of a page share their names, in order; pages share nothing but the process.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
import traceback
from pathlib import Path

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(text: str) -> list[tuple[int, str]]:
    """Line number and text of each block."""
    return [(text[: found.start(1)].count("\n"), found.group(1)) for found in _BLOCK.finditer(text)]


def run(path: Path) -> str:
    """The traceback of the first block that failed; empty if none did."""
    names: dict[str, object] = {"__name__": path.stem.replace("-", "_")}
    for line, text in blocks(path.read_text(encoding="utf-8")):
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile("\n" * line + text, str(path), "exec"), names)
        except Exception:
            return traceback.format_exc(limit=-3)
    return ""


if __name__ == "__main__":
    print(json.dumps({page: run(Path(page)) for page in sys.argv[1:]}))
