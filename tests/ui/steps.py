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


@steps(selected=...)
def graph(page: Any, view: Any) -> None:
    view.locator("canvas.mx-canvas").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert view.locator('[role="treeitem"][aria-selected="true"]').count() == 1
    assert "operator" in view.locator(".mx-side").inner_text()
    view.get_by_label("open all blocks").click()
    page.keyboard.press("/")


@steps(plan="none", one=True)
def memory(page: Any, view: Any) -> None:
    view.locator('[data-plan="none"]').click()
    assert "none" in view.locator(".mx-side").inner_text()
    view.locator('[data-plan="none"]').press("ArrowRight")
    view.locator('[data-plan="none"]').click()
    view.get_by_label("draw all plans to one scale").click()
    view.locator("canvas.mx-canvas").focus()
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowLeft")
    assert "Alive at the peak" not in view.locator(".mx-side").inner_text(), "one step before it"
    page.keyboard.press("ArrowDown")
    assert "storage" in view.locator(".mx-side").inner_text()
    page.keyboard.press("/")
    page.keyboard.type("fc2_backward")
    assert ": fc2_backward" in view.locator(".mx-line").inner_text()
    page.keyboard.press("Escape")


@steps(events=...)
def live_memory(page: Any, view: Any) -> None:
    view.locator("canvas.mx-canvas").first.focus()
    page.keyboard.press("e")


@steps(selected=...)
def timeline(page: Any, view: Any) -> None:
    operations = view.get_by_role("listbox").first
    operations.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert "thread" in view.locator(".mx-side").inner_text().lower()


@steps(stage=...)
def stepper(page: Any, view: Any) -> None:
    tabs = view.get_by_role("tab")
    tabs.nth(2).click()
    assert tabs.nth(2).get_attribute("aria-selected") == "true"
    page.keyboard.press("ArrowRight")
    assert tabs.nth(3).get_attribute("aria-selected") == "true"
    page.keyboard.press("[")
    if view.locator("canvas.mx-canvas").is_visible():
        page.keyboard.press("g")  # the list in place of the picture
    assert tabs.nth(2).get_attribute("aria-selected") == "true"
    rows = view.get_by_role("listbox", name="this stage")
    rows.focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    rows.locator('[aria-selected="true"]').first.wait_for(state="attached", timeout=10_000)
    assert "Where it is" in view.locator(".mx-side").inner_text()
    page.keyboard.press("/")
    page.keyboard.type("dense")
    assert "rows with" in view.locator(".mx-line").inner_text()
    page.keyboard.press("Escape")
    page.keyboard.press("c")
    assert view.get_by_label("compare with", exact=True).is_visible()


@steps(node=..., at=...)
def look(page: Any, view: Any) -> None:
    source = view.get_by_role("listbox", name="source lines")
    pieces = view.get_by_role("listbox", name="pieces that run")
    numbers = view.locator('[data-pane="numbers"]')

    def marked(pane: Any) -> str:
        row = pane.locator('[aria-selected="true"]').first
        row.wait_for(state="attached", timeout=10_000)
        return row.inner_text()

    # A line: everything else follows.
    source.get_by_text("x = self.first(x)").click()
    assert "first" in numbers.locator("h3").first.inner_text()
    assert "first" in marked(pieces)
    # The time: forward, then back to the first step.
    slider = view.get_by_label("step of the schedule")
    slider.focus()
    page.keyboard.press("End")
    assert "∇ first" in numbers.locator("h3").first.inner_text()
    assert "self.first" in marked(source)
    page.keyboard.press("Home")
    assert "1 of" in view.locator(".mx-place").inner_text()
    # Keys of a pane: the next array in memory, the next task.
    view.locator('[data-pane="memory"] canvas.mx-canvas').focus()
    page.keyboard.press("ArrowRight")
    assert "2 of" in view.locator(".mx-place").inner_text()
    view.locator('[data-pane="engine"] canvas.mx-canvas').focus()
    page.keyboard.press("n")
    assert "3 of" in view.locator(".mx-place").inner_text()
    # A piece of the program.
    pieces.get_by_role("option").last.click()
    assert "piece" in numbers.inner_text()
    # A pane large has all of its tools; then as before.
    large = view.get_by_label("graph: large, with all its tools")
    large.click()
    assert view.get_by_label("open all blocks").is_visible()
    large.click()
    view.get_by_role("button", name="peak", exact=True).first.click()
    assert "(docs/concepts/glossary.md)" in view.locator(".mx-meaning").first.inner_text()


@steps(y="efficiency", sliders={"overlap": 0.05})
def scaling(page: Any, view: Any) -> None:
    view.get_by_label("show efficiency").click()
    assert view.locator("[data-line]").count() == 1
    view.get_by_label("overlap").focus()
    page.keyboard.press("ArrowRight")
    assert view.locator('[data-line="what if"]').count() == 1
    assert "what if" in view.locator(".mx-line").inner_text()


@steps(y="cost", scaling="strong", sliders={"servers": 1})
def laboratory(page: Any, view: Any) -> None:
    assert view.locator("[data-bar]").count() == 9, (
        "four counts, measured and modelled, and what is asked"
    )
    view.get_by_label("show cost").click()
    view.get_by_label("strong scaling").click()
    assert view.locator("[data-origin]").count() == 0, (
        "they were measured with a batch for each worker"
    )
    view.get_by_label("parameter servers").focus()
    page.keyboard.press("ArrowRight")
    bar = view.locator('[data-bar="8 what if"]')
    assert "exchange" not in (bar.locator(".mx-stack > div").last.get_attribute("title") or "")
    assert "costs" in view.locator(".mx-line").inner_text()


@steps(at=..., log=True)
def board(page: Any, view: Any) -> None:
    chart = view.locator("canvas.mx-chart").first
    chart.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert view.locator(".mx-line").inner_text().startswith("step 5")
    view.get_by_role("button", name="log axes").click()
    assert "last values" in view.locator(".mx-side").inner_text()


@steps(at=[2, 3], pad=2)
def explorer(page: Any, view: Any) -> None:
    view.locator("canvas.mx-canvas").focus()
    page.keyboard.press("ArrowRight")
    assert "result[2, 3] is the sum of 18 products" in view.locator(".mx-side").inner_text()
    view.get_by_label("pad").focus()
    page.keyboard.press("ArrowRight")
    assert "8 + 2·2 − 3" in view.locator(".mx-side").inner_text()
