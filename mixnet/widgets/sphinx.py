"""A Sphinx extension: views in notebooks and pages stay interactive, without a request to anywhere.

In ``conf.py``: ``extensions = ["myst_nb", "mixnet.widgets.sphinx"]`` and ``nb_execution_mode = "off"``.
"""

from __future__ import annotations

from typing import Any

from mixnet.widgets.page import bundles_in, scripts


def add_scripts(
    app: object, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    """Give a page whose body has views their scripts, once, at its end."""
    body = context.get("body")
    if body:
        context["body"] = body + scripts(bundles_in(body))


def setup(app: Any) -> dict[str, Any]:
    """Connect the extension."""
    app.connect("html-page-context", add_scripts)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
