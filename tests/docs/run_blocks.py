"""Run the Python code of Markdown pages: ``python run_blocks.py PAGE...`` prints the failures as JSON.

The blocks of a page share their names, in order; pages share nothing but the process. A block
that begins with ``# From FILE`` quotes a source file and is not run: its lines must be there.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
import traceback
from pathlib import Path

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_QUOTATION = re.compile(r"# From (\S+)\n")


def blocks(text: str) -> list[tuple[int, str]]:
    """Line number and text of each block."""
    return [
        (text[: result.start(1)].count("\n"), result.group(1)) for result in _BLOCK.finditer(text)
    ]


def misquoted(text: str) -> str:
    """The first line that the quoted file lacks at its position; ``...`` stands for any lines."""
    source = _QUOTATION.match(text)
    rest = iter((ROOT / source[1]).read_text(encoding="utf-8").splitlines())
    for line in text.splitlines()[1:]:
        if line.strip() != "..." and line not in rest:
            return f"{line!r} is not in {source[1]}, or not at this position"
    return ""


def run(path: Path) -> str:
    """The traceback of the first block that failed; empty if none did."""
    names: dict[str, object] = {"__name__": path.stem.replace("-", "_")}
    for line, text in blocks(path.read_text(encoding="utf-8")):
        if _QUOTATION.match(text):
            if wrong := misquoted(text):
                return f"{path}, line {line}: {wrong}"
            continue
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile("\n" * line + text, str(path), "exec"), names)
        except Exception:
            return traceback.format_exc(limit=-3)
    return ""


if __name__ == "__main__":
    print(json.dumps({page: run(Path(page)) for page in sys.argv[1:]}))
