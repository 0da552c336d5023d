"""The live form of a view: one anywidget class per bundle, made when it is first needed."""

from __future__ import annotations

import functools
import importlib.util
from typing import Any

from mixnet.widgets.page import STATIC


def available() -> bool:
    """Whether anywidget is installed (``pip install 'mixnet[widgets]'``)."""
    return importlib.util.find_spec("anywidget") is not None


@functools.cache
def live_class(bundle: str) -> Any:
    """The widget class of a bundle: traits ``payload`` and ``state``, both dicts, both synchronised.

    ``payload`` is written by Python, ``state`` (selection, what is open, place of sliders) by both.
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
        },
    )
