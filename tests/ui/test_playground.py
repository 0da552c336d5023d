"""Everything that a reader can do to a network in training, in JupyterLab."""

from __future__ import annotations

import re

from tests.ui.conftest import ROOT, Server, Watched, lacks, says, settle
from tests.ui.notebooks import open_in, restart, run_all, write

NETWORK = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import mixnet as mx
from mixnet.gluon import nn
from mixnet.widgets import Playground

class Mine(nn.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.first = nn.Dense(16, activation="tanh")
            self.norm = nn.BatchNorm()
            self.second = nn.Dense(16, activation="sigmoid")
            self.out = nn.Dense(3)

    def hybrid_forward(self, F, x):
        x = self.first(x)
        return self.out(x + self.second(self.norm(x)))

mx.random.seed(1)
net = Mine()
net.initialize(mx.init.Xavier())
x, y = mx.nd.random.normal(shape=(8, 5)), mx.nd.array([0, 1, 2, 0, 1, 2, 0, 1])
view = Playground(net, x, y)
view
"""


def test_layers_rate_activation_and_poison(lab: Server, watched: Watched) -> None:
    page = watched.page
    open_in(page, lab, write(lab, "playground", NETWORK))
    run_all(page)
    bar = page.locator(".jp-OutputArea .mx-play")
    done = bar.locator("output")

    def press(name: str) -> None:
        bar.get_by_role("button", name=name, exact=True).click()

    def loss() -> float:
        match = re.search(r"loss ([\d.e-]+)", done.inner_text())
        assert match is not None, done.inner_text()
        return float(match[1])

    def train(steps: int) -> float:
        press("10 steps: train")
        says(done, f"{steps} steps")
        settle(page)
        return loss()

    before = train(10)
    rate = bar.get_by_label("learning rate")
    rate.fill("0")
    rate.press("Enter")
    says(done, "learning rate")
    still = [train(20), train(30)]
    assert still[0] == still[1] <= before, "nothing is learned at rate 0"
    rate = bar.get_by_label("learning rate")
    rate.fill("0.5")
    rate.press("Enter")
    says(done, "0.5")
    assert train(40) < still[1]
    bar.get_by_label("layer", exact=True).select_option("second")
    press("off: the layer returns its input")
    says(done, "second is off")
    press("on: put the layer back")
    bar.get_by_role("button", name="off: the layer returns its input").wait_for()
    bar.get_by_label("layer", exact=True).select_option("second.act")
    bar.get_by_label("activation", exact=True).select_option("relu")
    says(done, "second.act is relu")
    press("poison: set one number of the input to NaN and see where it spreads")
    says(bar, "not finite, first in")
    press("restore: undo all changes of layers")
    lacks(done, "second.act is relu")
    train(50)
    line = page.locator(".jp-OutputArea .mx-line").last
    lacks(line, "working")
    restart(page)
    press("10 steps: train")
    says(line, "run this cell again")
    assert watched.errors == []
