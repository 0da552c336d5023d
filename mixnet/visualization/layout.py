"""Layered layout of boxes and downward edges, for static pictures."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

GAP_X, GAP_Y, LINE = 22.0, 26.0, 9.0
MARGIN = 10
Point = tuple[float, float]


@dataclass(frozen=True)
class Layout:
    """Places.

    Args:
        width, height: of everything.
        corners: the upper left corner of each box.
        paths: for each edge an even number of points: a vertical line from point ``2i`` to ``2i + 1``, a
            curve from there to point ``2i + 2``.
    """

    width: float
    height: float
    corners: list[Point]
    paths: list[list[Point]]


def layered(
    sizes: Sequence[tuple[float, float]],
    edges: Sequence[tuple[int, int]],
    weights: Sequence[float] | None = None,
) -> Layout:
    """Boxes in rows, every edge from a row to a lower one, no edge through a box.

    Ranks by the longest path, a place of its own in every row for each long edge, orders by barycentres,
    places by least squares. Edges of a cycle are drawn upwards.

    Args:
        sizes: width and height of each box.
        edges: pairs of boxes, the upper one first.
        weights: the more, the straighter; 1 for each edge by default.
    """
    if not sizes:
        return Layout(2 * MARGIN, 2 * MARGIN, [], [])
    count = len(sizes)
    turned = _turned(count, edges)
    pairs = [(b, a) if turn else (a, b) for (a, b), turn in zip(edges, turned, strict=True)]
    level = _ranks(count, pairs)
    half = [width / 2 for width, _ in sizes]
    links: dict[tuple[int, int], float] = {}
    shared: dict[tuple[int, int], int] = {}
    chains: list[list[int]] = []
    for (a, b), weight in zip(pairs, weights or [1.0] * len(pairs), strict=True):
        chain, last = [], a
        for rank in range(level[a] + 1, level[b]):
            place = shared.get((a, rank))
            if place is None:
                place = shared[a, rank] = len(half)
                half.append(1.0)
                level.append(rank)
            links[last, place] = weight * (8.0 if last >= count else 3.0)
            chain.append(place)
            last = place
        links[last, b] = links.get((last, b), 0.0) + weight * (3.0 if last >= count else 2.0)
        chains.append(chain)
    rows = _ordered(level, links)
    x = _places(rows, half, links, count)
    low = min(x[i] - half[i] for i in range(len(half)))
    high = max(x[i] + half[i] for i in range(len(half)))
    x = [each - low + MARGIN for each in x]
    tops, bottoms = [], []
    y: float = MARGIN
    for row in rows:
        tops.append(y)
        y += max((sizes[i][1] for i in row if i < count), default=0.0)
        bottoms.append(y)
        y += GAP_Y
    starts, ends = _attached(pairs, chains, x, sizes)
    paths = []
    for number, (a, b) in enumerate(pairs):
        top = tops[level[a]]
        path = [
            (x[a] + starts[number], top + sizes[a][1]),
            (x[a] + starts[number], bottoms[level[a]]),
        ]
        for place in chains[number]:
            path += [(x[place], tops[level[place]]), (x[place], bottoms[level[place]])]
        path += [(x[b] + ends[number], tops[level[b]])] * 2
        paths.append(path[::-1] if turned[number] else path)
    corners = [(x[i] - half[i], tops[level[i]]) for i in range(count)]
    return Layout(high - low + 2 * MARGIN, y - GAP_Y + MARGIN, corners, paths)


def curve(path: Sequence[Point]) -> str:
    """A path as the ``d`` of an SVG path."""
    parts = [f"M{path[0][0]:.0f},{path[0][1]:.0f}"]
    for k, ((px, py), (x, y)) in enumerate(itertools.pairwise(path)):
        if k % 2 == 0 or abs(x - px) < 0.5:
            if y != py:
                parts.append(f"L{x:.0f},{y:.0f}")
        else:
            middle = (py + y) / 2
            parts.append(f"C{px:.0f},{middle:.0f} {x:.0f},{middle:.0f} {x:.0f},{y:.0f}")
    return "".join(parts)


def _turned(count: int, edges: Sequence[tuple[int, int]]) -> list[bool]:
    """Which edges have to be turned round for there to be no cycle."""
    out: list[list[int]] = [[] for _ in range(count)]
    for number, (a, _) in enumerate(edges):
        out[a].append(number)
    is_turned = [a == b for a, b in edges]
    state = [0] * count
    for root in range(count):
        if state[root]:
            continue
        state[root] = 1
        stack = [(root, 0)]
        while stack:
            node, at = stack.pop()
            if at == len(out[node]):
                state[node] = 2
                continue
            stack.append((node, at + 1))
            below = edges[out[node][at]][1]
            if state[below] == 1:
                is_turned[out[node][at]] = True
            elif not state[below]:
                state[below] = 1
                stack.append((below, 0))
    return is_turned


def _ranks(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    below: list[list[int]] = [[] for _ in range(count)]
    above, waiting = [0] * count, [0] * count
    for a, b in edges:
        if a != b:
            below[a].append(b)
            above[b] += 1
            waiting[b] += 1
    rank = [0] * count
    queue = [i for i in range(count) if not waiting[i]]
    for i in queue:
        for j in below[i]:
            rank[j] = max(rank[j], rank[i] + 1)
            waiting[j] -= 1
            if not waiting[j]:
                queue.append(j)
    for i in reversed(queue):  # what nothing stands above of moves down to what reads it
        if not above[i] and below[i]:
            rank[i] = max(rank[i], min(rank[j] for j in below[i]) - 1)
    return rank


def _ordered(level: Sequence[int], links: dict[tuple[int, int], float]) -> list[list[int]]:
    rows: list[list[int]] = [[] for _ in range(max(level) + 1)]
    up: list[list[int]] = [[] for _ in level]
    down: list[list[int]] = [[] for _ in level]
    for a, b in links:
        down[a].append(b)
        up[b].append(a)
    visited = [False] * len(level)
    for start in sorted(range(len(level)), key=lambda i: (level[i], i)):
        stack = [start]
        while stack:
            i = stack.pop()
            if not visited[i]:
                visited[i] = True
                rows[level[i]].append(i)
                stack += reversed(down[i])
    place = [0.0] * len(level)
    for row in rows:
        for k, i in enumerate(row):
            place[i] = k
    for sweep in range(6):
        side, order = (up, rows) if sweep % 2 == 0 else (down, rows[::-1])
        for row in order:
            means = {
                i: sum(place[j] for j in side[i]) / len(side[i]) if side[i] else place[i]
                for i in row
            }
            row.sort(key=lambda i: (means[i], place[i]))
            for k, i in enumerate(row):
                place[i] = k
    return rows


def _places(
    rows: list[list[int]], half: Sequence[float], links: dict[tuple[int, int], float], count: int
) -> list[float]:
    """The middle of every place, near those that it is linked with, in order and at distance."""
    x = [0.0] * len(half)

    def distance(a: int, b: int) -> float:
        return half[a] + half[b] + (GAP_X if a < count or b < count else LINE)

    for row in rows:
        at = 0.0
        for k, i in enumerate(row):
            at += distance(row[k - 1], i) if k else 0.0
            x[i] = at
        middle = (x[row[0]] + at) / 2
        for i in row:
            x[i] -= middle
    up: list[list[tuple[int, float]]] = [[] for _ in half]
    down: list[list[tuple[int, float]]] = [[] for _ in half]
    for (a, b), weight in links.items():
        down[a].append((b, weight))
        up[b].append((a, weight))
    for sweep in range(10):
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            targets = []
            for i in row:
                near = up[i] + down[i] if sweep >= 8 else up[i] if sweep % 2 == 0 else down[i]
                total = sum(weight for _, weight in near)
                want = sum(x[j] * weight for j, weight in near) / total if total else x[i]
                targets.append((want, total or 0.05))
            for i, place in zip(row, _spread(row, targets, distance), strict=True):
                x[i] = place
    return x


def _spread(
    row: Sequence[int], targets: Sequence[tuple[float, float]], distance: object
) -> list[float]:
    """Places in order and at distance, nearest to the wanted ones in weighted least squares."""
    shifts: list[float] = []
    groups: list[list[float]] = []  # weighted sum, weight, number of members
    for k, (want, weight) in enumerate(targets):
        shifts.append(shifts[-1] + distance(row[k - 1], row[k]) if k else 0.0)  # type: ignore[operator]
        groups.append([weight * (want - shifts[k]), weight, 1])
        while len(groups) > 1 and groups[-2][0] / groups[-2][1] > groups[-1][0] / groups[-1][1]:
            last = groups.pop()
            for part in range(3):
                groups[-1][part] += last[part]
    means = [total / weight for total, weight, size in groups for _ in range(int(size))]
    return [mean + shift for mean, shift in zip(means, shifts, strict=True)]


def _attached(
    pairs: Sequence[tuple[int, int]],
    chains: Sequence[Sequence[int]],
    x: Sequence[float],
    sizes: Sequence[tuple[float, float]],
) -> tuple[list[float], list[float]]:
    """Where each edge leaves and meets its boxes, from their middles: in order of the other ends."""
    starts, ends = [0.0] * len(pairs), [0.0] * len(pairs)
    sides: dict[tuple[int, bool], list[tuple[float, int]]] = {}
    for number, (a, b) in enumerate(pairs):
        chain = chains[number]
        sides.setdefault((b, True), []).append((x[chain[-1] if chain else a], number))
        sides.setdefault((a, False), []).append((x[chain[0] if chain else b], number))
    for (box, is_end), others in sides.items():
        others.sort()
        step = min(14.0, sizes[box][0] / (len(others) + 1))
        for k, (_, number) in enumerate(others):
            (ends if is_end else starts)[number] = (k - (len(others) - 1) / 2) * step
    return starts, ends
