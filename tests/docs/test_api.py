"""The API reference has every public name, and docstrings become equivalent Markdown."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import mixnet as mx
from tests.each_record import each_record

# What has no page of its own, and why.
ELSEWHERE = {
    "api": "empty",
    "base": "",
    "paths": "MXNet's other module paths",
    "notebook": "a callback that needs pandas",
    "executor_manager": "what MXNet's old programs import",
    "rtc": "left out",
    "tvmop": "left out",
    "torch": "asking for it says what to do",
    "init": "initializer",
    "ndarray": "nd",
    "symbol": "sym",
    "kv": "kvstore",
    "mod": "module",
    "mon": "monitor",
    "numpy": "np",
    "numpy_extension": "npx",
    "rnd": "random",
    "th": "torch",
    "visualization": "viz",
    "img": "image",
    "contrib": "its parts have pages",
}


def test_every_module_has_a_page() -> None:
    from build_api import PAGES

    tree = ast.parse(Path(mx.__file__).read_text())
    imports = [  # those for type checkers too
        each
        for each in ast.walk(tree)
        if isinstance(each, ast.ImportFrom) and each.module == "mixnet"
    ]
    names = {alias.asname or alias.name for each in imports for alias in each.names}
    names = {name for name in names if not name.startswith("_")}
    assert {"nd", "gluon", "kvstore"} <= names
    assert names - set(PAGES) - set(ELSEWHERE) == set()


@each_record("page", ["nd", "gluon.nn", "np", "optimizer", "engine", "sym.contrib", "metric", "io"])
def test_a_page_has_every_public_name(page: str) -> None:
    from build_api import page_of, page_text, public

    text = page_text(page)
    names = [
        name for name, value in public(page)
        if not (inspect.isclass(value) or inspect.isroutine(value)) or page_of(value) == page
    ]  # fmt: skip
    assert len(names) > 3
    assert [n for n in names if f"mixnet.{page}.{n}" not in text and f"`{n}`" not in text] == []


def test_an_operator_points_to_its_entry() -> None:
    from build_api import page_text

    assert "[`FullyConnected`](../operators/nn-dense.md#fullyconnected)" in page_text("nd")


def test_sections_become_lists_and_code_stays_code() -> None:
    from docstrings import to_markdown

    text = to_markdown(
        """Sum of ``x*y`` for :class:`Block`, in [a, b).

            total ← total + x * y

        Args:
            x, y: arrays of one shape,
                float.

        Raises:
            ShapeError: the shapes differ.

        Source: a *book*.
        """,
        {"x": "NDArray", "y": "NDArray"},
    )
    assert text.splitlines()[0] == r"Sum of `x*y` for `Block`, in \[a, b)."
    assert "    total ← total + x * y" in text
    assert "- `x`, `y` (`NDArray`): arrays of one shape,\n  float." in text
    assert "- `ShapeError`: the shapes differ." in text
    assert r"**Source:** a \*book\*." in text
