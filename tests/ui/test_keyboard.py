"""Every view by keys alone: what is needed is reached with Tab, shows that it has the focus, and
keeps it when the view changes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.ui.conftest import Watched, says, settle, shown
from tests.widgets.examples import EXAMPLES

FOCUSED = """() => {
  const each = document.activeElement;
  if (each === document.body) return null;
  const { outlineStyle, outlineWidth } = getComputedStyle(each);
  return { name: each.getAttribute('aria-label') ?? each.textContent,
           visible: outlineStyle !== 'none' && parseFloat(outlineWidth) > 0 };
}"""

Walk = list[tuple[str, str, str]]
WALKS: dict[str, Walk] = {
    "array": [("slice", "ArrowRight", "1"), ("heat map", "ArrowRight ArrowDown", "[0, 1, 1, 0]")],
    "board": [("loss over steps", "Home", "step 1:"), ("log axes", "Enter", "")],
    "compared_board": [("loss over steps", "ArrowLeft ArrowLeft", "step 39")],
    "explorer": [("pad", "ArrowRight", "pad"), ("data, kernel", "ArrowRight", "result[2, 3]")],
    "graph": [("show", "ArrowDown", "show"), ("graph;", "ArrowDown", "read by"),
              ("search by", "d e n s e Enter", "dense")],
    "laboratory": [("show cost", "Enter", "cost per epoch"), ("strong", "Enter", "one batch for"),
                   ("overlap", "ArrowRight", "what if"), ("reset", "Enter", "")],
    "live_memory": [("Alive at", "ArrowDown Enter", "lives"), ("details", "", "lives")],
    "look": [("source lines", "ArrowDown Enter", "numbers"), ("step of", "End", " of "),
             ("clear the", "Enter", ""), ("graph: large", "Enter", "show")],
    "memory": [("both", "ArrowRight Enter", "recompute"), ("Alive at", "ArrowDown Enter", "bytes")],
    "playground": [("graph;", "ArrowDown ArrowDown", "values"), ("clear the", "Enter", "")],
    "puzzle": [("last:", "Home", "last at 0 B"), ("start again", "Enter", "229 kB")],
    "puzzle_fusion": [("C ·", "Enter", "keep"), ("Join", "Enter", "joins")],
    "puzzle_tasks": [("read 2", "ArrowDown", "read 2 on thread 2"),
                     ("start again", "Enter", "started again")],
    "scaling": [("show efficiency", "Enter", "efficiency"), ("devices", "ArrowRight", "devices")],
    "stepper": [("step forward", "Enter", ""), ("source lines", "ArrowDown Enter", "marked"),
                ("back one", "Enter Enter Enter", "")],
    "timeline": [("operations in", "ArrowDown Enter", "waited"), ("← all", "Enter", "operations"),
                 ("one event back", "Enter", "replay"), ("leave", "Enter", "operations")],
}  # fmt: skip
"""For each view: to which element, by the beginning of its name, which keys, and what is read then."""


def reach(page: Any, name: str) -> None:
    """Press Tab until an element has the focus whose name begins so."""
    for _ in range(60):
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED)
        if focused and focused["name"].startswith(name):
            assert focused["visible"], f"nothing shows that {name} has the focus"
            return
    raise AssertionError(f"Tab does not reach {name}")


@pytest.mark.parametrize("name", sorted(WALKS))
def test_a_view_is_used_by_keys_alone(
    watched: Watched, example: Callable[[str], Path], name: str
) -> None:
    page = watched.page
    page.goto(example(name).as_uri())
    view = shown(page)
    for target, keys, expected in WALKS[name]:
        reach(page, target)
        for key in keys.split():
            page.keyboard.press(key)
            settle(page)
            assert page.evaluate(FOCUSED) is not None, f"{key} on {target} loses the focus"
        says(view, expected)
    assert watched.errors == []


def test_every_view_is_walked() -> None:
    assert set(EXAMPLES) - {"torch_look"} == set(WALKS)
