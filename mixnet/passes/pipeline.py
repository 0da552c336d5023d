"""Which passes run, in which order, for which purpose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mixnet.graph.graph import Graph
from mixnet.passes.choose_layout import choose_layout
from mixnet.passes.eliminate_common import eliminate_common
from mixnet.passes.facts import Facts
from mixnet.passes.fold_batch_norm import fold_batch_norm
from mixnet.passes.inline import inline

Pass = Callable[[Graph, Facts], Graph]

# A pending segment is lowered from its live outputs alone, so dead operations are gone before the
# first pass; what is left to do is to find what was written down twice.
PASSES: dict[str, tuple[Pass, ...]] = {
    "segment": (inline, eliminate_common, fold_batch_norm, choose_layout),
    "graph": (eliminate_common,),
}


def run(
    graph: Graph,
    purpose: str,
    facts: Facts | None = None,
    history: list[dict[str, Any]] | None = None,
) -> Graph:
    """The graph after every pass of a purpose.

    Args:
        purpose: a key of ``PASSES``.
        facts: what is known about the program; by default nothing but that it runs on CPU.
        history: gets one ``{"pass": name, "graph": plain data}`` for the start and each pass.
    """
    facts = facts or Facts()
    if history is not None:
        history.append({"pass": "recorded", "graph": graph.to_dict()})
    for each in PASSES[purpose]:
        graph = each(graph, facts)
        if history is not None:
            history.append({"pass": each.__name__, "graph": graph.to_dict()})
    return graph
