"""Cell magics: ``%%name`` runs a cell and shows a view of what it did."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from mixnet.base import MXNetError

Magic = Callable[[str, str], Any]
_MAGICS: dict[str, Magic] = {}


def cell_magic(name: str) -> Callable[[Magic], Magic]:
    """Declare ``%%name``: the function gets the rest of its line and the cell's text."""

    def declare(function: Magic) -> Magic:
        _MAGICS[name] = function
        return function

    return declare


def run_cell(cell: str) -> Any:
    """Run a cell's text as the notebook would; what it raises stops the magic too.

    Raises:
        MXNetError: there is no IPython.
    """
    running = shell()
    if running is None:
        raise MXNetError("Cell magics need IPython: run this in a notebook.")
    result = running.run_cell(cell)
    result.raise_error()
    return result.result


def register(ipython: Any = None) -> None:
    """Give a shell all cell magics; the running one by default (none: nothing happens)."""
    ipython = shell() if ipython is None else ipython
    if ipython is not None:
        for name, function in _MAGICS.items():
            ipython.register_magic_function(function, "cell", name)


def shell() -> Any:
    """The running IPython, None where there is none."""
    module = sys.modules.get("IPython")
    return None if module is None else module.get_ipython()
