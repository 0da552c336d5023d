"""Which passes run, in which order, for which purpose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mixnet.graph.graph import Graph
from mixnet.passes.eliminate_common import eliminate_common

Pass = Callable[[Graph], Graph]

# A pending segment is lowered from its live outputs alone, so dead operations are gone before the
# first pass; what is left to do is to find what was written down twice.
PASSES: dict[str, tuple[Pass, ...]] = {
    "segment": (eliminate_common,),
    "graph": (eliminate_common,),
}


def run(graph: Graph, purpose: str, history: list[dict[str, Any]] | None = None) -> Graph:
    """The graph after every pass of a purpose.

    Args:
        purpose: a key of ``PASSES``.
        history: gets one ``{"pass": name, "graph": plain data}`` for the start and each pass.
    """
    if history is not None:
        history.append({"pass": "recorded", "graph": graph.to_dict()})
    for each in PASSES[purpose]:
        graph = each(graph)
        if history is not None:
            history.append({"pass": each.__name__, "graph": graph.to_dict()})
    return graph
