"""Code can run as that of a notebook."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import mixnet as mx

RunCell = Callable[[str], dict[str, Any]]
"""Runs a text and returns the names that it defined."""


@pytest.fixture
def ipython(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """A shell of IPython, which puts a module of its own in the place of ``__main__``."""
    interactive = pytest.importorskip("IPython.core.interactiveshell", reason="pip install ipython")
    from traitlets.config import Config

    shell = interactive.InteractiveShell
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    before = shell._instance
    # Its history is one file of the user, which other processes may lock, and a thread writes it.
    config = Config({"HistoryManager": {"enabled": False}})
    yield shell.instance(config=config, ipython_dir=str(tmp_path))
    if before is None:
        shell.clear_instance()


@pytest.fixture
def run_as_cell_7(monkeypatch: pytest.MonkeyPatch) -> RunCell:
    """Runs a text as IPython would run it in the cell ``In[7]``."""
    file = "/x/ipykernel_1/2.py"
    compiler = SimpleNamespace(format_code_name={file: ("Cell", "In[7]")}.get)
    ipython = SimpleNamespace(get_ipython=lambda: SimpleNamespace(compile=compiler))
    monkeypatch.setitem(sys.modules, "IPython", ipython)

    def run(text: str) -> dict[str, Any]:
        names: dict[str, Any] = {"mx": mx}
        exec(compile(text, file, "exec"), names)
        return names

    return run
