"""What a person does with each view: a click, keys; and what Python has to be told of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

STEPS: dict[str, Steps] = {}


class Steps:
    """Steps on a page.

    Args:
        act: called with the page and the view's element.
        told: entries of the state that Python has to hear of; ``...``: any value.
    """

    def __init__(self, act: Callable[[Any, Any], None], told: dict[str, Any]):
        self.act, self.told = act, told

    def __call__(self, page: Any, view: Any) -> None:
        self.act(page, view)


def steps(**told: Any) -> Callable[[Callable[[Any, Any], None]], Callable[[Any, Any], None]]:
    """Declare the steps of the example with the function's name."""

    def declare(act: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
        STEPS[act.__name__] = Steps(act, told)
        return act

    return declare


@steps(at={"row": 1, "column": 1})
def array(page: Any, view: Any) -> None:
    canvas = view.locator("canvas")
    canvas.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    assert "[0, 0, 1, 1]" in view.locator(".mx-line").inner_text()
    view.get_by_label("slice").focus()
    page.keyboard.press("ArrowRight")
    assert "[0, 1, 1, 1]" in view.locator(".mx-line").inner_text()
