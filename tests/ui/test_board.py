"""The buttons of a training board, while a training runs in the kernel."""

from __future__ import annotations

import re
from typing import Any

from tests.ui.conftest import Server, Watched, has, says, settle, waiting
from tests.ui.notebooks import open_in, run_all, write

TRAIN = """
import time
from mixnet.widgets import TrainingBoard
board = TrainingBoard("endless")
board.learning_rate = 0.1

def train(board):
    while True:
        time.sleep(0.01)
        board.log(loss=board.learning_rate)
        board.checkpoint()

board.start(train)
"""


def step_of(view) -> int:
    return int(view.locator(".mx-side td").nth(1).inner_text())


def test_buttons_control_the_training(lab: Server, watched: Watched) -> None:
    page = watched.page
    open_in(page, lab, write(lab, "training", TRAIN))
    run_all(page)
    view = page.locator(".jp-OutputArea .mx")
    status = view.locator(".mx-status")

    def button(name: str) -> Any:
        return view.get_by_role("button", name=name)

    # Its last line follows the training; a screen reader says only what changes the state.
    line = view.locator(".mx-line")
    says(line, re.compile(r"^running, step \d{0,3},?\d{3}"))
    has(line, "aria-live", "off")
    button("pause the training").click()
    view.locator('.mx-status[data-status="pause"]').wait_for(timeout=60_000)
    says(status, "paused")
    has(line, "aria-live", "polite")
    waiting(button("pause the training")).to_be_disabled()
    settle(page)
    before = step_of(view)  # the state that says "paused" has the last step
    button("one step").click()
    page.wait_for_function(
        "(n) => document.querySelector('.mx-side td:nth-child(2)').textContent === String(n)",
        arg=before + 1,
    )
    slider = view.get_by_label("learning rate")
    slider.fill("57")  # 1e-2
    button("resume the training").click()
    page.wait_for_function(
        "() => document.querySelector('.mx-side td:nth-child(3)').textContent === '0.0098'",
        timeout=60_000,
    )
    button("stop the training").click()
    view.locator('.mx-status[data-status="stop"]').wait_for(timeout=60_000)
    for name in ("pause", "resume", "stop"):
        waiting(button(f"{name} the training")).to_be_disabled()
    assert watched.axe(".jp-OutputArea .mx") == []
    assert watched.outside == []
    assert watched.errors == []
