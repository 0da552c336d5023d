"""A user's actions in each view: a click, keys; and the messages that Python must receive."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tests.ui.conftest import counts, has, holds, lacks, says, settle

STEPS: dict[str, Steps] = {}


class Steps:
    """Steps on a page.

    Args:
        act: called with the page and the view's element.
        state: entries of the state that Python has to hear of; ``...``: any value.
    """

    def __init__(self, act: Callable[[Any, Any], None], state: dict[str, Any]):
        self.act, self.state = act, state

    def __call__(self, page: Any, view: Any) -> None:
        self.act(page, view)


def steps(**state: Any) -> Callable[[Callable[[Any, Any], None]], Callable[[Any, Any], None]]:
    """Declare the steps of the example with the function's name."""

    def declare(act: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
        STEPS[act.__name__] = Steps(act, state)
        return act

    return declare


@steps(at={"row": 1, "column": 1})
def array(page: Any, view: Any) -> None:
    canvas = view.locator("canvas")
    canvas.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    says(view.locator(".mx-line"), "[0, 0, 1, 1]")
    view.get_by_label("slice").focus()
    page.keyboard.press("ArrowRight")
    says(view.locator(".mx-line"), "[0, 1, 1, 1]")


@steps(selected=...)
def graph(page: Any, view: Any) -> None:
    view.locator("canvas.mx-canvas").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    counts(view.locator('[role="treeitem"][aria-selected="true"]'), 1)
    says(view.locator(".mx-side"), "operator")
    view.get_by_label("open all blocks").click()
    page.keyboard.press("/")


def answers(pane: Any, question: str, answer: str | re.Pattern[str]) -> None:
    """Click the button of a question, and wait for what the answer says."""
    button = pane.locator(".mx-why summary", has_text=question).first
    button.click()
    says(button.locator(".."), answer)


@steps(plan="none", one=True)
def memory(page: Any, view: Any) -> None:
    view.locator('[data-plan="none"]').click()
    says(view.locator(".mx-side"), "none")
    view.locator('[data-plan="none"]').press("ArrowRight")
    view.locator('[data-plan="none"]').click()
    view.get_by_label("draw all plans to one scale").click()
    view.locator("canvas.mx-canvas").focus()
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowLeft")
    lacks(view.locator(".mx-side"), "Alive at the peak")  # one step before it
    page.keyboard.press("ArrowDown")
    says(view.locator(".mx-side"), "storage")
    page.keyboard.press("/")
    page.keyboard.type("fc2_backward")
    says(view.locator(".mx-line"), ": ∇ fc2")
    answers(view.locator(".mx-side"), "Why is it still in memory?", "step")
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
    says(view.locator(".mx-side"), "thread", ignore_case=True)
    answers(view.locator(".mx-side"), "Why did it wait?", "waited")
    side = view.locator(".mx-side")
    answers(side, "Why interpreted or compiled?", "MIXNET_INTERPRET=0")


@steps(stage=...)
def stepper(page: Any, view: Any) -> None:
    view.get_by_role("button", name="stages", exact=True).wait_for()  # the whole word is a link
    answers(view.locator(".mx-side"), "Why was it compiled?", "This call")
    tabs = view.get_by_role("tab")
    tabs.nth(2).click()
    has(tabs.nth(2), "aria-selected", "true")
    page.keyboard.press("ArrowRight")
    has(tabs.nth(3), "aria-selected", "true")
    page.keyboard.press("[")
    if view.locator("canvas.mx-canvas").is_visible():
        page.keyboard.press("g")  # the list in place of the picture
    has(tabs.nth(2), "aria-selected", "true")
    rows = view.get_by_role("listbox", name="this stage")
    rows.focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    rows.locator('[aria-selected="true"]').first.wait_for(state="attached", timeout=10_000)
    says(view.locator(".mx-side"), "Where it appears")
    page.keyboard.press("/")
    page.keyboard.type("dense")
    says(view.locator(".mx-line"), "rows with")
    page.keyboard.press("Escape")
    page.keyboard.press("c")
    view.get_by_label("compare with", exact=True).wait_for()


@steps(node=..., at=...)
def look(page: Any, view: Any) -> None:
    source = view.get_by_role("listbox", name="source lines")
    pieces = view.get_by_role("listbox", name="pieces that run")
    numbers = view.locator('[data-pane="numbers"]')

    def marks(pane: Any, text: str) -> None:
        says(pane.locator('[aria-selected="true"]').first, text)

    # A line: everything else follows.
    source.get_by_text("x = self.first(x)").click()
    says(numbers.locator("h3").first, "first")
    marks(pieces, "first")
    # The time: forward, then back to the first step.
    slider = view.get_by_label("step of the schedule")
    slider.focus()
    page.keyboard.press("End")
    says(numbers.locator("h3").first, "∇ first")
    marks(source, "self.first")
    page.keyboard.press("Home")
    says(view.locator(".mx-place"), "1 of")
    # Keys of a pane: the next array in memory, the next task.
    view.locator('[data-pane="memory"] canvas.mx-canvas').focus()
    page.keyboard.press("ArrowRight")
    says(view.locator(".mx-place"), "2 of")
    view.locator('[data-pane="engine"] canvas.mx-canvas').focus()
    page.keyboard.press("n")
    says(view.locator(".mx-place"), "3 of")
    # A piece of the program.
    pieces.get_by_role("option").last.click()
    says(numbers, "piece")
    # A pane large has all of its tools; then as before.
    large = view.get_by_label("graph: large, with all its tools")
    large.click()
    view.get_by_label("open all blocks").wait_for()
    canvas = view.locator('[data-pane="graph"] canvas.mx-canvas').first
    settle(page)
    holds(canvas, "(each) => each.clientHeight > 400")
    large.click()
    # For an array, or, where the thread runs as fast as tasks are pushed, for the thread.
    answers(numbers, "Why did it wait?", re.compile("It (was ready, and )?waited"))
    view.get_by_role("button", name="peak", exact=True).first.click()
    says(view.locator(".mx-meaning").first, "(docs/concepts/glossary.md)")


@steps(node=...)
def torch_look(page: Any, view: Any) -> None:
    graph = view.locator('[data-pane="graph"] canvas.mx-canvas')
    graph.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    says(view.locator('[data-pane="numbers"]'), "values")


@steps(node=...)
def playground(page: Any, view: Any) -> None:
    bar = view.locator(".mx-play")
    says(bar, "3 steps", "not finite, first in first")
    counts(bar.locator("svg polyline"), 1)
    source = view.get_by_role("listbox", name="source lines")
    source.get_by_text("x = self.first(x)").click()
    says(view.locator('[data-pane="numbers"]'), "NaN")
    train = bar.get_by_label("1 step: train")
    if train.count():  # Python answers
        train.click()
        bar.locator("output", has_text="4 steps").wait_for(timeout=60_000)
        lacks(bar, "not finite")


@steps(y="efficiency", sliders={"overlap": 0.05})
def scaling(page: Any, view: Any) -> None:
    view.get_by_label("show efficiency").click()
    counts(view.locator("[data-line]"), 1)
    view.get_by_label("overlap").focus()
    page.keyboard.press("ArrowRight")
    counts(view.locator('[data-line="what if"]'), 1)
    says(view.locator(".mx-line"), "what if")


@steps(y="cost", scaling="strong", sliders={"servers": 1}, exchange={"kind": "tree", "step": 1})
def laboratory(page: Any, view: Any) -> None:
    # four counts, measured and modelled, and what is asked
    counts(view.locator("[data-bar]"), 9)
    view.get_by_label("show cost").click()
    view.get_by_label("strong scaling").click()
    # they were measured with a batch for each worker
    counts(view.locator("[data-origin]"), 0)
    view.get_by_label("parameter servers").focus()
    page.keyboard.press("ArrowRight")
    bar = view.locator('[data-bar="8 what if"]')
    assert "exchange" not in (bar.locator(".mx-stack > div").last.get_attribute("title") or "")
    says(view.locator(".mx-line"), "costs")
    counts(view.locator("[data-link]"), 16)  # 8 workers push to one server, and pull
    view.get_by_label("exchange", exact=True).select_option("tree")
    counts(view.locator("[data-link]"), 14)
    view.get_by_label("step of the exchange").focus()
    page.keyboard.press("ArrowRight")
    counts(view.locator("[data-link]"), 1)  # the deepest worker of 8 begins


@steps(at=..., log=True)
def board(page: Any, view: Any) -> None:
    chart = view.locator("canvas.mx-chart").first
    chart.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    says(view.locator(".mx-line"), re.compile("^step 5"))
    view.get_by_role("button", name="log axes").click()
    says(view.locator(".mx-side"), "last values")


@steps(at=[2, 3], pad=2)
def explorer(page: Any, view: Any) -> None:
    view.locator("canvas.mx-canvas").focus()
    page.keyboard.press("ArrowRight")
    says(view.locator(".mx-side"), "result[2, 3] is the sum of 18 products")
    view.get_by_label("pad").focus()
    page.keyboard.press("ArrowRight")
    says(view.locator(".mx-side"), "8 + 2·2 − 3")


def parts_of_puzzle(view: Any) -> tuple[Any, Any, Any]:
    """The boxes, the line below them, and the score."""
    return tuple(view.locator(each) for each in ("[data-item]", ".mx-line", ".mx-mine"))


@steps(place=..., selected=0)
def puzzle(page: Any, view: Any) -> None:
    boxes, line, score = parts_of_puzzle(view)
    # By keys: the highest box down, into a conflict, and out of it.
    boxes.nth(7).focus()
    page.keyboard.press("Home")
    says(line, "last at 0 B")
    lacks(line, "conflict")
    page.keyboard.press("ArrowUp")
    says(line, "last at 123 kB")
    boxes.nth(1).focus()
    page.keyboard.press("ArrowDown")
    says(view.locator(".mx-side"), "first and wide share bytes, and both are needed at step 2.")
    says(score, "not valid yet")
    counts(view.locator(".mx-wrong"), 2)
    page.keyboard.press("u")
    counts(view.locator(".mx-wrong"), 0)
    # By the mouse: the next one down to the floor, which is free at its steps.
    drag(page, boxes.nth(6), 0, 300)
    says(line, "joined at")
    before = score.inner_text()
    view.get_by_label("show", exact=True).select_option("mixnet")
    says(score, "no answer is better")
    assert score.inner_text() != before
    view.get_by_label("start again (r)").click()
    says(score, "229 kB")
    boxes.nth(0).click()
    says(view.locator(".mx-side"), "steps 1 to 5")


@steps(place=..., selected=10)
def puzzle_tasks(page: Any, view: Any) -> None:
    boxes, line, score = parts_of_puzzle(view)
    boxes.nth(5).focus()
    page.keyboard.press("ArrowDown")
    says(line, "read 2 on thread 2 at 13")
    page.keyboard.press("Home")
    says(line, "read 2 on thread 2 at 0")
    boxes.nth(8).focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    says(view.locator(".mx-side"), "update 2 reads gradients, which step 2 writes")
    view.locator(".mx-before").first.wait_for()  # what it waits for is marked
    page.keyboard.press("u")
    page.keyboard.press("u")
    view.get_by_label("show", exact=True).select_option("engine")
    says(score, "no answer is better")
    drag(page, boxes.nth(10), 0, -64)
    says(line, "log 2 on thread 1")


@steps(place=[0, 1, 1, 2, 3, 4, 5, 5], selected=...)
def puzzle_fusion(page: Any, view: Any) -> None:
    boxes, score = view.locator("[data-item]"), view.locator(".mx-mine")
    label = boxes.evaluate_all("(all) => all.map((each) => each.title)")
    at = {text.split(":")[0]: i for i, text in enumerate(label)}
    onto(page, boxes.nth(at["keep"]), boxes.nth(at["open"]))
    says(view.locator(".mx-line"), "keep joins open")
    # By keys, and by a button: a library call in company, and out again.
    boxes.nth(at["gate"]).focus()
    page.keyboard.press("ArrowDown")
    says(view.locator(".mx-side"), "gate is a library call: it runs alone.")
    page.keyboard.press("Delete")
    lacks(score, "conflict")
    boxes.nth(at["take"]).click()
    view.get_by_role("button", name="(state)").click()
    says(view.locator(".mx-side"), "runs with")


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
    chart = view.locator("canvas.mx-chart").first
    # The only one has the room of two.
    holds(chart, "(one) => one.clientWidth >= Math.min(0.9 * one.parentElement.clientWidth, 600)")
    chart.focus()
    page.keyboard.press("Home")
    says(view.locator(".mx-line"), re.compile("^step 1"))
    says(view.locator(".mx-side"), "other runs, up to step 40", "rate 2: val_loss")
