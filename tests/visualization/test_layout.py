"""The layered layout: no box over another, no edge through a box."""

from __future__ import annotations

import itertools
import random

import pytest

from mixnet.visualization.layout import Layout, curve, layered
from tests.each_record import each_record


def random_graph(seed: int) -> tuple[list[tuple[float, float]], list[tuple[int, int]]]:
    pick = random.Random(seed)
    count = pick.randint(2, 30)
    sizes = [(pick.uniform(20, 160), pick.choice([20.0, 40.0])) for _ in range(count)]
    pairs = {(pick.randrange(count), pick.randrange(count)) for _ in range(2 * count)}
    return sizes, [(min(p), max(p)) for p in pairs if p[0] != p[1]]


def points_of(path: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Places on a path as :func:`curve` draws it: lines, and curves that begin and end upright."""
    results = []
    for k, ((px, py), (x, y)) in enumerate(itertools.pairwise(path)):
        for step in range(9):
            t = step / 8
            s = 1 - t
            if k % 2 == 0:
                results.append((px + (x - px) * t, py + (y - py) * t))
            else:
                middle = (py + y) / 2
                results.append((
                    (s**3 + 3 * s * s * t) * px + (3 * s * t * t + t**3) * x,
                    s**3 * py + 3 * s * t * middle + t**3 * y,
                ))  # fmt: skip
    return results


def check(layout: Layout, sizes, edges) -> None:
    boxes = [(x, y, x + w, y + h) for (x, y), (w, h) in zip(layout.corners, sizes, strict=True)]
    for i, (x0, y0, x1, y1) in enumerate(boxes):
        assert x0 >= 0 and y0 >= 0 and x1 <= layout.width + 1e-6 and y1 <= layout.height + 1e-6
        for a0, b0, a1, b1 in boxes[:i]:
            assert x0 >= a1 or a0 >= x1 or y0 >= b1 or b0 >= y1
    for (a, b), path in zip(edges, layout.paths, strict=True):
        assert len(path) % 2 == 0
        for x, y in points_of(path):
            for i, (x0, y0, x1, y1) in enumerate(boxes):
                inside = x0 + 0.5 < x < x1 - 0.5 and y0 + 0.5 < y < y1 - 0.5
                assert not inside or i in (a, b)
        assert (
            boxes[a][0] <= path[0][0] <= boxes[a][2] and boxes[b][0] <= path[-1][0] <= boxes[b][2]
        )


@each_record("seed", range(25))
def test_no_edge_runs_through_a_box(seed: int) -> None:
    sizes, edges = random_graph(seed)
    check(layered(sizes, edges), sizes, edges)


@pytest.mark.parametrize("seed", range(5))
def test_cyclic_graphs_have_a_layout(seed: int) -> None:
    sizes, edges = random_graph(seed)
    edges += [(b, a) for a, b in edges[:3] if (b, a) not in edges]
    check(layered(sizes, edges), sizes, edges)


def test_edges_point_down_and_a_chain_is_straight() -> None:
    layout = layered([(50, 20)] * 4, [(0, 1), (1, 2), (2, 3)])
    assert [y for _, y in layout.corners] == sorted(y for _, y in layout.corners)
    assert len({round(x, 6) for x, _ in layout.corners}) == 1
    assert curve(layout.paths[0]).startswith("M") and "C" not in curve(layout.paths[0])


def test_inputs_of_a_node_are_placed_next_to_each_other() -> None:
    layout = layered([(50, 20)] * 4, [(0, 1), (1, 2), (3, 2)])
    assert layout.corners[3][1] == layout.corners[1][1]


def test_an_empty_graph_has_an_empty_layout() -> None:
    assert layered([], []).corners == []
