"""The pipelines: which passes run, in which order, for which purpose."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from mixnet.graph.graph import Graph
from mixnet.passes.choose_layout import choose_layout
from mixnet.passes.eliminate_common import eliminate_common
from mixnet.passes.expand_layers import expand_layers
from mixnet.passes.facts import Facts
from mixnet.passes.fold_batch_norm import fold_batch_norm
from mixnet.passes.fold_constants import fold_constants
from mixnet.passes.inline import inline
from mixnet.passes.simplify import drop_gradient_rules, simplify

Pass = Callable[[Graph, Facts], Graph]
Watch = Callable[[str, Graph, float], None]

# A pending segment is lowered from its live outputs, so dead operations are removed before the first pass.
# A segment is never differentiated, because ``backward`` has already recorded its gradients, so operators
# that only declare a gradient are removed. A "graph", of a block or a symbol, may still be differentiated:
# its passes preserve gradients, too.
PASSES: dict[str, tuple[Pass, ...]] = {
    "segment": (
        inline,
        expand_layers,
        drop_gradient_rules,
        fold_constants,
        simplify,
        eliminate_common,
        fold_batch_norm,
        choose_layout,
    ),
    "graph": (fold_constants, simplify, eliminate_common),
}


def run(
    graph: Graph,
    purpose: str,
    facts: Facts | None = None,
    history: list[dict[str, Any]] | None = None,
    watch: Watch | None = None,
) -> Graph:
    """The graph after every pass of a purpose.

    Args:
        purpose: a key of ``PASSES``.
        facts: what is known about the program; by default only that it runs on CPU.
        history: gets one ``{"pass": name, "graph": plain data}`` for the start and each pass.
        watch: called with the name of each pass, the graph after it, and the seconds it took.
    """
    facts = facts or Facts()
    if history is not None:
        history.append({"pass": "recorded", "graph": graph.to_dict()})
    for each in PASSES[purpose]:
        start = time.perf_counter()
        graph = each(graph, facts)
        if watch is not None:
            watch(each.__name__, graph, time.perf_counter() - start)
        if history is not None:
            history.append({"pass": each.__name__, "graph": graph.to_dict()})
    return graph
