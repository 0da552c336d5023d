"""Sessions: small programs that continue each other, like the cells of a notebook.

Run it with an interpreter that has mxnet 1.9.1 (Python 3.10, NumPy 1.23)::

    python tests/parity/record_sessions.py [SESSION ...]

``fixtures/sessions.json`` holds the cells of each session in order, as ``[code, printed]``: what
MXNet printed for the cell, the value of its last expression included. Where ``printed`` is null
nothing is compared: the cell is random, prints times or addresses, or differs on purpose
(``docs/from-mxnet.md``), but later cells need it. A new session is a new key whose cells have
``""``.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import logging
import os
import random
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FIXTURE = Path(__file__).parent / "fixtures" / "sessions.json"
CLASSES = (
    "MXNetError", "ValueError", "TypeError", "IndexError", "AttributeError", "NotImplementedError",
    "AssertionError", "KeyError", "RuntimeError", "OSError", "StopIteration",
)  # fmt: skip
RAISES = "raises "
BEFORE = """
import os, sys
import mxnet as mx, numpy as onp
from mxnet import autograd, gluon, nd, np, npx, sym
from mxnet.gluon import nn, rnn
onp.random.seed(7)
mx.random.seed(7)
"""


_UNLIKE = ("semantics", "Time cost=")  # records with these words differ from run to run


class _Printing(logging.Handler):
    """Prints what the library logs, as a program sees it that has set logging up."""

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.name != "mixnet.sparse" and not any(each in text for each in _UNLIKE):
            print(text)


@contextlib.contextmanager
def _logging_is_printed() -> Iterator[None]:
    handler, level = _Printing(), logging.root.level
    logging.root.addHandler(handler)
    logging.root.setLevel(logging.INFO)
    try:
        yield
    finally:
        logging.root.removeHandler(handler)
        logging.root.setLevel(level)


def printed(cells: list[str]) -> list[str]:
    """What each cell prints, in a folder that is empty at first; an error as ``raises`` and its classes.

    Args:
        cells: programs that say ``import mxnet``; each sees the names of those before it.
    """
    scope: dict[str, Any] = {"__name__": "__main__"}
    random.seed(7)
    texts = []
    with warnings.catch_warnings(), _logging_is_printed():
        warnings.simplefilter("ignore")
        exec(BEFORE, scope)
        try:
            for cell in cells:
                text = io.StringIO()
                with contextlib.redirect_stdout(text):
                    _run(cell, scope)
                texts.append(text.getvalue())
        finally:
            with contextlib.redirect_stdout(io.StringIO()):
                scope["mx"].npx.reset_np()
    return texts


def _run(cell: str, scope: dict[str, Any]) -> None:
    try:
        tree = ast.parse(cell)
        last = tree.body[-1] if tree.body else None
        tree.body = [
            each for each in tree.body if each is not last or not isinstance(each, ast.Expr)
        ]
        exec(compile(tree, "cell", "exec"), scope)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), scope)
            if value is not None:
                print(value)
    except Exception as error:
        names = [cls.__name__ for cls in type(error).__mro__ if cls.__name__ in CLASSES]
        print(RAISES + " ".join(names or ["Exception"]))


def main(expected: list[str]) -> None:
    """Write what MXNet prints to the fixture; where it is null it stays so."""
    sessions = json.loads(FIXTURE.read_text())
    for name in expected or list(sessions):
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            texts = printed([code for code, _ in sessions[name]])
            os.chdir("/")
        pairs = zip(sessions[name], texts, strict=True)
        sessions[name] = [[code, None if old is None else new] for (code, old), new in pairs]
    FIXTURE.write_text(json.dumps(sessions, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
