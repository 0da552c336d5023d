"""The live form of a view: one anywidget class per bundle, created on first use.

A live view has no output of its own. Its widget looks on the page for the place that the view's HTML keeps
(``data-place``) and draws itself there. So what a notebook stores is the picture, whoever saves it: no widget
of an ended kernel is left behind.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
import uuid
from collections.abc import Callable
from typing import Any

from mixnet.process.source import notebook_shell
from mixnet.widgets.page import STATIC

MIME = "application/vnd.jupyter.widget-view+json"


def available() -> bool:
    """Whether anywidget is installed (``pip install 'mixnet[widgets]'``)."""
    return importlib.util.find_spec("anywidget") is not None


def finds_its_place() -> bool:
    """Whether widgets and outputs share one page, as in JupyterLab and Notebook.

    VS Code and Colab show outputs in frames, and load widgets for outputs of their MIME type alone.
    """
    frames = "google.colab" in sys.modules or "VSCODE_PID" in os.environ
    return notebook_shell() is not None and not frames


def after_cell(function: Callable[[], None]) -> None:
    """Call a function once, when the notebook's running cell has ended."""
    events = notebook_shell().events

    def update_once(*_: object) -> None:
        events.unregister("post_run_cell", update_once)
        function()

    events.register("post_run_cell", update_once)


@functools.cache
def live_class(bundle: str) -> Any:
    """The widget class of a bundle: synchronized traits ``payload``, ``state`` (dicts) and ``place``.

    ``payload`` is written by Python, ``state`` (selection, what is open, place of sliders) by both; ``place``
    is the name of the element that the view is drawn in.
    """
    import anywidget
    import traitlets

    return type(
        f"Live_{bundle}",
        (anywidget.AnyWidget,),
        {
            "_esm": STATIC / f"{bundle}.js",
            "_css": STATIC / "mx.css",
            "payload": traitlets.Dict().tag(sync=True),
            "state": traitlets.Dict().tag(sync=True),
            "place": traitlets.Unicode().tag(sync=True),
        },
    )


def new_place() -> str:
    """A name that no other element has."""
    return uuid.uuid4().hex
