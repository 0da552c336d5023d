"""``mx.look`` as the first thing that a process does."""

from __future__ import annotations

import mixnet as mx
from mixnet.widgets import EngineTimeline


def test_the_engine_has_started_before_its_times_are_taken() -> None:
    """Otherwise starting the threads, which takes longer than a small graph, would fill the pane."""
    net = mx.gluon.nn.Dense(2, in_units=3)
    net.initialize()
    with EngineTimeline() as whole:
        view = mx.look(net, mx.nd.ones((4, 3)))
        shown = view.payload["engine"]["runs"][0]
    run = whole.payload["runs"][0]
    names = [run["strings"][name] for name in run["ops"]["name"]]
    (own,) = [shown["strings"][name] for name in shown["ops"]["name"]]
    assert "start" in names[: names.index(own)]
    assert "start" not in shown["strings"]
