"""The memory plan of a graph as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mixnet.graph.graph import Graph
from mixnet.passes.facts import Known
from mixnet.passes.plan_memory import plan_memory


def memory_plan(graph: Graph, inputs: Sequence[Known]) -> dict[str, Any]:
    """Plain data of the plan for the arrays inside of a graph whose inputs have these specs."""
    return plan_memory(graph, inputs).to_dict()
