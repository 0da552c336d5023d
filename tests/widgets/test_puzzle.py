"""Puzzles: their rules against brute force, MXNet's planner, the real engine and the page's own rules."""

from __future__ import annotations

import itertools
import json
import random
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import sym
from mixnet.base import AttributeTypeError, AttributeValueError
from mixnet.engine import ThreadedEngine, Var
from mixnet.gluon import nn
from mixnet.widgets import Puzzle
from mixnet.widgets.puzzle import fusion, tasks
from mixnet.widgets.puzzle.ready import NETWORKS, TASKS
from mixnet.widgets.puzzle.rules import dependencies, judge
from widgets.fixtures.make_puzzles import PATH, answers

READY = sorted([*NETWORKS, *TASKS])


def scores(puzzle: Puzzle) -> dict[str, int]:
    return {each["name"]: each["score"] for each in puzzle.payload["references"]}


# ---- the rules ------------------------------------------------------------------------------------


def test_the_rules_of_the_page_agree_with_python() -> None:
    for row in json.loads(PATH.read_text()):
        for each in row["answers"]:
            actual = judge(row["payload"], each["place"])
            assert actual == {"score": each["score"], "conflicts": each["conflicts"]}, row["name"]


@pytest.mark.parametrize("name", READY)
def test_known_answers_are_allowed_and_no_better_than_the_bound(name: str) -> None:
    puzzle = Puzzle(name)
    p = puzzle.payload
    bound = max(each["score"] for each in p["references"] if each.get("bound"))
    for each in p["references"]:
        if each["place"] is not None:
            assert each["score"] >= bound
            assert judge(p, each["place"]) == {"score": each["score"], "conflicts": []}
    assert puzzle.conflicts == [] and puzzle.score > bound, "there is something to gain"


def overlap(items: list[dict[str, Any]], place: list[int]) -> tuple[int, bool]:
    """Bytes of the arena, and whether two arrays use a byte at once: counted byte by byte."""
    top = max(at + each["size"] for each, at in zip(items, place, strict=True))
    use = np.zeros((max(each["end"] for each in items), top), int)
    for each, at in zip(items, place, strict=True):
        use[each["begin"] : each["end"], at : at + each["size"]] += 1
    return top, bool((use > 1).any())


def test_memory_is_judged_as_bytes_are_used() -> None:
    choose = random.Random(3)
    for _ in range(200):
        items = []
        for number in range(5):
            begin = choose.randrange(6)
            items.append(
                {
                    "name": f"a{number}",
                    "size": choose.randrange(1, 9),
                    "begin": begin,
                    "end": begin + choose.randrange(1, 4),
                }
            )
        place = [choose.randrange(20) for _ in items]
        actual = judge({"kind": "memory", "items": items}, place)
        assert (actual["score"], bool(actual["conflicts"])) == overlap(items, place)


def test_dependencies_are_those_of_reads_and_writes_in_the_order_of_pushing() -> None:
    rows = [
        ("a", 1, [], ["x"]),
        ("b", 1, ["x"], []),
        ("c", 1, ["x"], ["x"]),
        ("d", 1, [], ["x"]),
        ("e", 1, ["y"], []),
    ]
    edges = dependencies(tasks.checked(rows))
    assert {edge[:2] for edge in edges} == {(0, 1), (0, 2), (1, 2), (2, 3)}
    texts = {edge[2] for edge in edges}
    assert {
        "b reads x, which a writes",
        "c writes x, which b reads",
        "d writes x, which c writes",
    } == texts - {"c reads x, which a writes"}


def test_a_task_too_early_and_a_thread_taken_twice_are_conflicts() -> None:
    puzzle = Puzzle.of_tasks([("a", 2, [], ["x"]), ("b", 3, ["x"], []), ("c", 1, [], [])])
    puzzle.answer = [[0, 0], [1, 1], [0, 1]]
    assert puzzle.conflicts == [
        "a and c run on thread 1 at the same time.",
        "b reads x, which a writes until 2: it cannot start at 1.",
    ]
    puzzle.answer = [[0, 0], [1, 2], [0, 2]]
    assert puzzle.conflicts == [] and puzzle.score == 5


def small_graph() -> dict[str, Any]:
    """The graph a -> b -> c, a -> c, in which a and c are pointwise."""
    values = [
        {"name": n, "bytes": b, "out": n == "z"}
        for n, b in (("in", 10), ("x", 20), ("y", 30), ("z", 40))
    ]
    items = [
        {"name": name, "op": "op", "kind": "pointwise", "reads": reads, "writes": [write]}
        for name, reads, write in (("a", [0], 1), ("b", [1], 2), ("c", [1, 2], 3))
    ]
    return {"kind": "fusion", "items": items, "values": values}


def test_moved_bytes_agree_with_a_count_by_hand() -> None:
    graph = small_graph()
    assert judge(graph, [0, 1, 2])["score"] == (10 + 20) + (20 + 30) + (20 + 30 + 40)
    assert judge(graph, [0, 0, 1])["score"] == (10 + 20 + 30) + (20 + 30 + 40)
    assert judge(graph, [5, 5, 5])["score"] == 10 + 40


def test_groups_that_wait_for_each_other_say_by_what() -> None:
    actual = judge(small_graph(), [0, 1, 0])
    assert actual["conflicts"] == [
        {
            "items": [0, 1, 2],
            "text": "Groups A and B depend on each other in a cycle: b reads a, c reads b.",
        }
    ]


def test_library_calls_run_alone_and_nothing_shares_a_loop_with_its_reduction() -> None:
    graph = small_graph()
    graph["items"][1]["kind"] = "library"
    assert [each["text"] for each in judge(graph, [0, 0, 1])["conflicts"]] == [
        "b is a library call: it runs alone."
    ]
    graph["items"][1]["kind"] = "reduction"
    assert judge(graph, [0, 0, 1])["conflicts"] == []
    assert [each["text"] for each in judge(graph, [0, 1, 1])["conflicts"]] == [
        "c needs all of b before it starts: one loop cannot do both."
    ]


# ---- what answers are compared with -----------------------------------------------------------------


def chain(*sizes: int) -> mx.sym.Symbol:
    x = sym.Variable("data")
    for number, size in enumerate(sizes):
        x = sym.FullyConnected(x, num_hidden=size, name=f"f{number}")
    return x


def diamond(a: int, b: int, c: int, d: int) -> mx.sym.Symbol:
    r = sym.FullyConnected(sym.Variable("data"), num_hidden=a, name="r")
    p, q = (
        sym.FullyConnected(r, num_hidden=size, name=name) for size, name in ((b, "p"), (c, "q"))
    )
    p, q = (sym.FullyConnected(each, num_hidden=d, name=f"{each.name}2") for each in (p, q))
    return sym.Concat(p, q, dim=1, name="j")


@pytest.mark.parametrize(
    ("make", "shape", "allocated"),
    [
        (lambda: chain(4096, 2048, 8192, 1024, 4096, 512), (1024, 16), 40),
        (lambda: chain(512, 1024, 2048, 4096, 8192), (1024, 16), 48),
        (lambda: chain(8192, 256, 64, 4096, 16, 2048, 4096), (1024, 16), 48),
        (lambda: diamond(4096, 2048, 1024, 512), (1024, 16), 26),
        (lambda: diamond(1024, 4096, 512, 2048), (1024, 16), 32),
        (NETWORKS["memory"][2], (64, 4, 128, 128), 136),
    ],
)
def test_mxnets_rule_gives_mxnets_figure(
    make: Callable[[], mx.sym.Symbol], shape: tuple[int, ...], allocated: int
) -> None:
    """The real MXNet 1.9.1 ends ``debug_str`` of these networks with "Total N MB allocated"."""
    assert scores(Puzzle.of(make(), data=shape))["MXNet"] >> 20 == allocated


def test_ours_is_what_memory_plan_says_and_no_sharing_is_the_sum() -> None:
    net = chain(40, 20, 80, 10)
    plan = net.memory_plan(data=(8, 16))
    actual = scores(Puzzle.of(net, data=(8, 16)))
    assert actual["mixnet"] == plan.total_bytes and actual["lower bound"] == plan.lower_bound_bytes
    assert actual["no sharing"] == sum(each.nbytes for each in plan.storages)


def real_schedule(items: list[dict[str, Any]], threads: int) -> list[int]:
    """Starts of tasks on the real engine, whose clock goes on when nothing more can start."""
    engine = ThreadedEngine({"compute": threads})
    gates = [threading.Event() for _ in items]
    begun: set[int] = set()
    changed = threading.Condition()

    def work(number: int) -> None:
        with changed:
            begun.add(number)
            changed.notify()
        assert gates[number].wait(30)

    variables = {name: Var(name) for each in items for name in (*each["reads"], *each["writes"])}
    # All wait for one until the last is pushed: so the order of pushing alone decides.
    gate, closed = threading.Event(), Var("gate")
    engine.push(lambda: gate.wait(30), writes=[closed])
    for number, each in enumerate(items):
        reads = [variables[name] for name in each["reads"] if name not in each["writes"]]
        writes = [variables[name] for name in each["writes"]]
        engine.push(lambda n=number: work(n), reads=[*reads, closed], writes=writes)
    place = tasks.engine_schedule(items, threads)
    gate.set()
    starts = [-1] * len(items)
    for now in sorted(
        {start for _, start in place}
        | {s + i["time"] for i, (_, s) in zip(items, place, strict=True)}
    ):
        for number, (_, start) in enumerate(place):
            if start + items[number]["time"] == now:
                gates[number].set()
        running = {n for n, (_, start) in enumerate(place) if start <= now}
        with changed:
            assert changed.wait_for(lambda want=running: want <= begun, 30)
            for number in begun:
                starts[number] = now if starts[number] < 0 else starts[number]
    engine.wait_for_all()
    engine.stop()
    return starts


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_engines_schedule_is_that_of_the_engine(threads: int) -> None:
    items = tasks.checked(TASKS["tasks"][2])
    place = tasks.engine_schedule(items, threads)
    assert real_schedule(items, threads) == [start for _, start in place]
    assert judge({"kind": "tasks", "items": items}, place)["conflicts"] == []


def test_the_best_fusion_is_that_of_every_way_to_give_groups() -> None:
    p = Puzzle("fusion-softmax").payload
    count = len(p["items"])
    judged = (judge(p, place) for place in itertools.product(range(count), repeat=count))
    best = min(each["score"] for each in judged if not each["conflicts"])
    assert scores(Puzzle("fusion-softmax"))["best answer"] == best


def test_the_bound_of_large_graphs_holds() -> None:
    for name in ("fusion", "fusion-softmax"):
        p = Puzzle(name).payload
        assert fusion._bound(p["items"], p["values"]) <= scores(Puzzle(name))["best answer"]


def test_kinds_follow_from_the_operators_programs() -> None:
    p = Puzzle("fusion-softmax").payload
    assert {each["name"]: each["kind"] for each in p["items"]} == {
        "top": "reduction",
        "less": "pointwise",
        "exp": "pointwise",
        "total": "reduction",
        "share": "pointwise",
    }
    assert {each["kind"] for each in Puzzle("fusion").payload["items"]} == {"library", "pointwise"}


# ---- making them ------------------------------------------------------------------------------------


def perceptron() -> nn.HybridSequential:
    net = nn.HybridSequential()
    net.add(nn.Dense(32, activation="relu", in_units=16), nn.Dense(4, in_units=32))
    net.initialize()
    return net


@pytest.mark.parametrize("kind", ["memory", "tasks", "fusion"])
def test_a_puzzle_can_be_made_from_any_network(kind: str) -> None:
    puzzle = Puzzle.of(perceptron(), mx.nd.ones((8, 16)), kind=kind, train=True)
    assert puzzle.payload["kind"] == kind and puzzle.conflicts == []
    assert puzzle.score >= min(scores(puzzle).values())


def test_scores_remain_without_answers() -> None:
    hidden = Puzzle("memory", answers=False)
    assert all(each["place"] is None for each in hidden.payload["references"])
    assert scores(hidden) == scores(Puzzle("memory"))


def test_a_block_in_training_uses_the_loss_that_is_passed() -> None:
    loss = mx.gluon.loss.L2Loss()
    puzzle = Puzzle.of(
        perceptron(), mx.nd.ones((8, 16)), mx.nd.ones((8, 4)), kind="tasks", train=True, loss=loss
    )
    assert any(
        "l2" in each["name"].lower() or "square" in each["name"] for each in puzzle.payload["items"]
    )


def test_an_invalid_puzzle_is_an_error() -> None:
    with pytest.raises(
        AttributeValueError, match=r"expected one of memory, .*, got 'chess'.*Puzzle\.of"
    ):
        Puzzle("chess")
    with pytest.raises(
        AttributeValueError, match="kind: expected one of memory, tasks, fusion, got 'x'"
    ):
        Puzzle.of(chain(4), data=(2, 3), kind="x")
    with pytest.raises(AttributeTypeError, match=r"Puzzle: function has no memory plan"):
        Puzzle.of(chain, data=(2, 3))
    with pytest.raises(AttributeValueError, match="has 1 operations; there is nothing to decide"):
        Puzzle.of(chain(4), data=(2, 3), kind="fusion")
    with pytest.raises(
        AttributeValueError, match=r"60 tasks, and a puzzle has at most 40.* part of the network\.$"
    ):
        Puzzle.of(chain(*[4] * 60), data=(2, 3), kind="tasks")
    with pytest.raises(AttributeValueError, match=r"at most 40.* or train=False\.$"):
        Puzzle.of(chain(*[4] * 30), data=(2, 3), kind="tasks", train=True)
    with pytest.raises(AttributeValueError, match=r"1 tasks; .*\. More tasks are needed\.$"):
        Puzzle.of_tasks([("read", 1, [], ["batch"])])
    with pytest.raises(AttributeValueError, match="threads: expected 1 to 8, got 0"):
        Puzzle("tasks", threads=0)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("a", 1)], r"expected \(name, time, reads, writes\), got \('a', 1\)"),
        ([("a", 0, [], [])], "a: expected a time of 1, 2, … units, got 0"),
        ([("a", 1, "x", [])], "a: reads and writes must be lists of names, got 'x'"),
    ],
)
def test_tasks_in_another_form(rows: list[Any], message: str) -> None:
    with pytest.raises(AttributeValueError, match=message):
        Puzzle.of_tasks(rows)


@pytest.mark.parametrize(
    ("name", "place", "message"),
    [
        ("memory", [0], "expected an offset in bytes for each of 8 items, got 1"),
        ("memory", [-1] * 8, "first takes an offset in bytes; got -1"),
        ("tasks", [[2, 0]] * 11, r"read 1 takes \[thread, start\], threads 0 to 1; got \[2, 0\]"),
        ("fusion", [1.5] * 8, "takes the number of a group; got 1.5"),
    ],
)
def test_an_answer_in_another_form(name: str, place: list[Any], message: str) -> None:
    with pytest.raises(AttributeValueError, match=message):
        Puzzle(name).answer = place


def test_fixtures_cover_all_ready_made_puzzles() -> None:
    assert [row["name"] for row in json.loads(PATH.read_text())] == READY
    assert len(answers(Puzzle("memory").payload, random.Random(1))) > 12
