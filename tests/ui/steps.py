"""What a person does with each view: a click, keys; and what Python has to be told of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.ui.conftest import settle

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


def asked(pane: Any, question: str) -> str:
    """Click the button of a question; the answer."""
    button = pane.locator(".mx-why summary", has_text=question).first
    button.click()
    return button.locator("..").inner_text()


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
    assert ": ∇ fc2" in view.locator(".mx-line").inner_text()
    assert "step" in asked(view.locator(".mx-side"), "Why is it still in memory?")
    page.keyboard.press("Escape")


@steps(events=...)
def live_memory(page: Any, view: Any) -> None:
    view.locator("canvas.mx-canvas").first.focus()
    page.keyboard.press("e")


@steps(selected=...)
def timeline(page: Any, view: Any) -> None:
    operations = view.get_by_role("listbox").first
    operations.focus()
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    assert "thread" in view.locator(".mx-side").inner_text().lower()
    assert "waited" in asked(view.locator(".mx-side"), "Why did it wait?")
    side = view.locator(".mx-side")
    assert "MIXNET_INTERPRET=0" in asked(side, "Why interpreted or compiled?")


@steps(stage=...)
def stepper(page: Any, view: Any) -> None:
    assert "This call" in asked(view.locator(".mx-side"), "Why was it compiled?")
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
    assert "Where it appears" in view.locator(".mx-side").inner_text()
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
    canvas = view.locator('[data-pane="graph"] canvas.mx-canvas').first
    assert canvas.evaluate("(each) => each.clientHeight") > 400
    large.click()
    assert "It waited" in asked(numbers, "Why did it wait?")
    view.get_by_role("button", name="peak", exact=True).first.click()
    assert "(docs/concepts/glossary.md)" in view.locator(".mx-meaning").first.inner_text()


@steps(node=...)
def torch_look(page: Any, view: Any) -> None:
    graph = view.locator('[data-pane="graph"] canvas.mx-canvas')
    graph.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert "values" in view.locator('[data-pane="numbers"]').inner_text()


@steps(node=...)
def playground(page: Any, view: Any) -> None:
    bar = view.locator(".mx-play")
    assert "3 steps" in bar.inner_text() and "not finite, first in first" in bar.inner_text()
    assert bar.locator("svg polyline").count() == 1
    source = view.get_by_role("listbox", name="source lines")
    source.get_by_text("x = self.first(x)").click()
    assert "NaN" in view.locator('[data-pane="numbers"]').inner_text()
    train = bar.get_by_label("1 step: train")
    if train.count():  # Python answers
        train.click()
        bar.locator("output", has_text="4 steps").wait_for(timeout=60_000)
        assert "not finite" not in bar.inner_text()


@steps(y="efficiency", sliders={"overlap": 0.05})
def scaling(page: Any, view: Any) -> None:
    view.get_by_label("show efficiency").click()
    assert view.locator("[data-line]").count() == 1
    view.get_by_label("overlap").focus()
    page.keyboard.press("ArrowRight")
    assert view.locator('[data-line="what if"]').count() == 1
    assert "what if" in view.locator(".mx-line").inner_text()


@steps(y="cost", scaling="strong", sliders={"servers": 1}, exchange={"kind": "tree", "step": 1})
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
    assert view.locator("[data-link]").count() == 16, "8 workers push to one server, and pull"
    view.get_by_label("exchange", exact=True).select_option("tree")
    assert view.locator("[data-link]").count() == 14
    view.get_by_label("step of the exchange").focus()
    page.keyboard.press("ArrowRight")
    assert view.locator("[data-link]").count() == 1, "the deepest worker of 8 begins"


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


@steps(place=..., selected=0)
def puzzle(page: Any, view: Any) -> None:
    boxes, line, score = (
        view.locator("[data-item]"),
        view.locator(".mx-line"),
        view.locator(".mx-mine"),
    )
    # By keys: the highest box down, into a conflict, and out of it.
    boxes.nth(7).focus()
    page.keyboard.press("Home")
    assert "last at 0 B" in line.inner_text() and "conflict" not in line.inner_text()
    page.keyboard.press("ArrowUp")
    assert "last at 123 kB" in line.inner_text()
    boxes.nth(1).focus()
    page.keyboard.press("ArrowDown")
    assert (
        "first and wide share bytes, and both are needed at step 2."
        in view.locator(".mx-side").inner_text()
    )
    assert "not valid yet" in score.inner_text() and view.locator(".mx-wrong").count() == 2
    page.keyboard.press("u")
    assert view.locator(".mx-wrong").count() == 0
    # By the mouse: the next one down to the floor, which is free at its steps.
    drag(page, boxes.nth(6), 0, 300)
    assert "joined at" in line.inner_text()
    before = score.inner_text()
    view.get_by_label("show", exact=True).select_option("mixnet")
    assert "no answer is better" in score.inner_text() != before
    view.get_by_label("start again (r)").click()
    assert "229 kB" in score.inner_text()
    boxes.nth(0).click()
    assert "steps 1 to 5" in view.locator(".mx-side").inner_text()


@steps(place=..., selected=10)
def puzzle_tasks(page: Any, view: Any) -> None:
    boxes, line, score = (
        view.locator("[data-item]"),
        view.locator(".mx-line"),
        view.locator(".mx-mine"),
    )
    boxes.nth(5).focus()
    page.keyboard.press("ArrowDown")
    assert "read 2 on thread 2 at 13" in line.inner_text()
    page.keyboard.press("Home")
    assert "read 2 on thread 2 at 0" in line.inner_text()
    boxes.nth(8).focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert "update 2 reads gradients, which step 2 writes" in view.locator(".mx-side").inner_text()
    assert view.locator(".mx-before").count() > 0, "what it waits for is marked"
    page.keyboard.press("u")
    page.keyboard.press("u")
    view.get_by_label("show", exact=True).select_option("engine")
    assert "no answer is better" in score.inner_text()
    drag(page, boxes.nth(10), 0, -64)
    assert "log 2 on thread 1" in line.inner_text()


@steps(place=[0, 1, 1, 2, 3, 4, 5, 5], selected=...)
def puzzle_fusion(page: Any, view: Any) -> None:
    boxes, score = view.locator("[data-item]"), view.locator(".mx-mine")
    label = boxes.evaluate_all("(all) => all.map((each) => each.title)")
    at = {text.split(":")[0]: i for i, text in enumerate(label)}
    onto(page, boxes.nth(at["keep"]), boxes.nth(at["open"]))
    assert "keep joins open" in view.locator(".mx-line").inner_text()
    # By keys, and by a button: a library call in company, and out again.
    boxes.nth(at["gate"]).focus()
    page.keyboard.press("ArrowDown")
    assert "gate is a library call: it runs alone." in view.locator(".mx-side").inner_text()
    page.keyboard.press("Delete")
    assert "conflict" not in score.inner_text()
    boxes.nth(at["take"]).click()
    view.get_by_role("button", name="(state)").click()
    assert "runs with" in view.locator(".mx-side").inner_text()


def drag(page: Any, box: Any, right: float, down: float) -> None:
    """Drag an element by so many pixels."""
    settle(page)
    area = box.bounding_box()
    x, y = area["x"] + area["width"] / 2, area["y"] + area["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + right, y + down, steps=8)
    page.mouse.up()


def onto(page: Any, box: Any, other: Any) -> None:
    """Drag an element onto another."""
    settle(page)
    from_, to = box.bounding_box(), other.bounding_box()
    drag(page, box, to["x"] - from_["x"], to["y"] - from_["y"])


@steps(at=...)
def compared_board(page: Any, view: Any) -> None:
    view.locator("canvas.mx-chart").first.focus()
    page.keyboard.press("Home")
    assert view.locator(".mx-line").inner_text().startswith("step 1")
    side = view.locator(".mx-side").inner_text()
    assert "other runs, up to step 40" in side and "rate 2: val_loss" in side
