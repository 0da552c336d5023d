"""A notebook's cell as a function."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from mixnet.base import MXNetError
from mixnet.widgets.magics import shell


def function(text: str) -> Callable[[], Any]:
    """A function that runs a cell's text on a copy of the notebook's names; its lines are known
    to tracebacks.

    Raises:
        MXNetError: there is no IPython.
        SyntaxError: the text is no Python.
    """
    notebook = shell()
    if notebook is None:
        raise MXNetError("Cell magics need IPython: run this in a notebook.")
    source = notebook.transform_cell(text)
    name = notebook.compile.cache(source, notebook.execution_count, raw_code=text)
    code = compile(source, name, "exec")
    # The code of a module, called as a function, stores its names in the function's globals.
    return FunctionType(code, dict(notebook.user_ns), "cell")
