"""The formats: every module of this folder that has a ``FORMAT``.

Such a module has ``corpus(folder)``, which writes small valid files and returns those to damage, and
``load(path)``, which loads one and uses what it loaded. Errors of the ``MXNetError`` family are answers;
everything else is a finding. ``NEEDS`` names a package without which the format is left out.
``packing(path)`` may give two functions, to take checksums or packing off the content of a file
and to put them on again, so that damage gets below them.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Packing = tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]


@dataclass(frozen=True)
class Format:
    """A format of files: how valid ones are written, and how they are loaded."""

    name: str
    corpus: Callable[[Path], list[Path]]
    load: Callable[[Path], None]
    packing: Callable[[Path], Packing | None]


def _modules() -> dict[str, str]:
    """Names of the formats, and of their modules; none is imported."""
    result = {}
    for path in sorted(Path(__file__).parent.glob("*.py")):
        text = path.read_text()
        named = re.search(r'^FORMAT = "([^"]+)"', text, re.MULTILINE)
        needs = re.search(r'^NEEDS = "([^"]+)"', text, re.MULTILINE)
        if named and (needs is None or importlib.util.find_spec(needs[1]) is not None):
            result[named[1]] = path.stem
    return result


def names() -> list[str]:
    """Names of all formats."""
    return sorted(_modules())


def find(name: str) -> Format:
    """The format of that name; also a module by its whole name."""
    known = _modules()
    module = importlib.import_module(f"tests.fuzz.{known[name]}" if name in known else name)
    packing = getattr(module, "packing", lambda path: None)
    return Format(name, module.corpus, module.load, packing)
