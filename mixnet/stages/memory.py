"""The memory plan of a graph, where the planner supports it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry
from mixnet.passes.facts import Known
from mixnet.passes.plan_memory import plan_memory


def memory_plan(graph: Graph, specs: Mapping[Entry, Known]) -> tuple[dict[str, Any] | None, str]:
    """Plain data of the plan for the arrays inside of a graph, and a reason where there is none."""
    inputs = [specs[Entry(node)] for node in graph.inputs]
    return plan_memory(graph, inputs).to_dict(), ""
