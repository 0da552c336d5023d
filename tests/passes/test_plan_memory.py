"""Memory plans: laws on random graphs, small graphs by hand, nothing quadratic."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mixnet as mx
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ops import find
from mixnet.passes.place_arrays import place_arrays
from mixnet.passes.plan_memory import MemoryPlan, plan_memory
from mixnet.passes.training_graph import training_graph
from tests.passes.planned import SPEC, check, graphs

QUICK = settings(max_examples=40, deadline=None)
WAYS = [(False, False), (True, False), (False, True), (True, True)]


@QUICK
@given(graphs(), st.sampled_from(WAYS))
def test_random_plans_for_prediction_obey_all_laws(graph: Graph, ways: tuple[bool, bool]) -> None:
    check(plan_memory(graph, [SPEC, SPEC], *ways))


@QUICK
@given(graphs(), st.sampled_from(WAYS))
def test_random_plans_for_training_obey_all_laws(graph: Graph, ways: tuple[bool, bool]) -> None:
    whole = training_graph(graph, {"x0": "write", "x1": "add"}).graph
    check(plan_memory(whole, [SPEC] * len(whole.inputs), *ways))


@QUICK
@given(graphs())
def test_sharing_never_needs_more_memory(graph: Graph) -> None:
    none, inplace, co_share, both = (
        plan_memory(graph, [SPEC, SPEC], *ways).total_bytes for ways in WAYS
    )
    assert both <= inplace <= none
    assert co_share <= none


def plan(symbol: mx.sym.Symbol, shape: tuple = (8, 8), **options: object) -> MemoryPlan:
    return symbol.memory_plan(x=shape, **options)


def test_a_chain_in_place_is_one_storage() -> None:
    x = mx.sym.Variable("x")
    chain = mx.sym.tanh(mx.sym.relu(mx.sym.exp(x, name="a"), name="b"), name="c")
    actual = plan(chain, co_share=False)
    assert [[a.name for a in s.arrays] for s in actual.storages] == [["a", "b", "c"]]
    assert actual.total_bytes == 256
    assert plan(chain, inplace=False, co_share=False).total_bytes == 3 * 256
    assert plan(chain, inplace=False).total_bytes == 2 * 256


def test_an_input_that_is_read_later_is_not_overwritten() -> None:
    a = mx.sym.exp(mx.sym.Variable("x"), name="a")
    b = mx.sym.relu(a, name="b")
    storages = plan(b + a).storages
    assert [storage.arrays[0].name for storage in storages] == ["a", "b"]


def test_an_input_read_twice_is_overwritten_only_elementwise() -> None:
    a = mx.sym.exp(mx.sym.Variable("x"), name="a")
    assert len(plan(a * a).storages) == 1
    # element k of the sum needs other elements of the same storage
    assert len(plan(a + mx.sym.transpose(a)).storages) == 2


def test_outputs_never_share_storage() -> None:
    a = mx.sym.exp(mx.sym.Variable("x"), name="a")
    both = mx.sym.Group([a, mx.sym.relu(a), mx.sym.Flatten(a)])
    actual = plan(both)
    assert len(actual.storages) == 3
    assert actual.total_bytes == 3 * 256


def test_parallel_branches_do_not_share_storage() -> None:
    a = mx.sym.exp(mx.sym.Variable("x"))
    left = mx.sym.dot(mx.sym.dot(a, a, name="l1"), a, name="l2")
    right = mx.sym.dot(mx.sym.dot(a, a, True, name="r1"), a, True, name="r2")
    actual = plan(mx.sym.dot(left, right))
    offsets = {array.name: array.offset for array in actual.arrays}
    assert actual.dependencies or offsets["l1"] not in (offsets["r1"], offsets["r2"])
    check(actual)


def test_a_chain_of_10000_operations_is_planned() -> None:
    node = Node(None, name="x0")
    entry = Entry(node)
    for i in range(10_000):
        entry = Entry(
            Node(
                find("sin" if i % 2 else "transpose"),
                find("sin" if i % 2 else "transpose").bind({})[0],
                (),
                (entry,),
                f"n{i}",
            )
        )
    actual = plan_memory(Graph((entry,), (node,)), [SPEC])
    assert actual.total_bytes == actual.lower_bound_bytes == 2 * 64


def test_offsets_follow_from_lifetimes() -> None:
    # 0 and 2 live at once with 1, not with each other
    offsets = place_arrays([10, 5, 7], [[1], [0, 2], [1]], [0, 0, 1], 15)
    assert sorted(offsets) == [0, 0, 10]
    # the search turns the second big one round: first fit alone needs 20
    sizes, clashes = [12, 12, 4, 4, 12], [[1, 2, 3, 4], [0, 2], [0, 1, 3], [0, 2, 4], [0, 3]]
    offsets = place_arrays(sizes, clashes, [0, 1, 2, 3, 4], 28)
    assert max(o + s for o, s in zip(offsets, sizes, strict=True)) == 28


def test_a_plan_is_plain_data() -> None:
    actual = plan(mx.sym.exp(mx.sym.relu(mx.sym.Variable("x"), name="r"), name="e"))
    data = json.loads(json.dumps(actual.to_dict()))
    assert data["total_bytes"] == data["lower_bound_bytes"] == data["arena_bytes"] == 256
    assert data["steps"] == ["r", "e"]
    assert [(a["name"], a["kind"], a["first"], a["last"]) for a in data["arrays"]] == [
        ("x", "argument", 0, 1), ("r", "internal", 0, 1), ("e", "output", 1, 1)]  # fmt: skip
    assert data["storages"][0]["arrays"] == ["r", "e"]
    assert data["live_bytes"] == [256, 256]
    assert "2 operations (inplace, co_share)" in repr(actual)


def test_an_output_that_is_a_variable_needs_no_storage() -> None:
    assert plan(mx.sym.Group([mx.sym.Variable("x")])).total_bytes == 0


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
def test_bytes_follow_the_dtype(dtype: str) -> None:
    actual = plan(mx.sym.Variable("x") + 1, type_dict={"x": dtype})
    assert actual.total_bytes == actual.argument_bytes == 64 * np.dtype(dtype).itemsize
