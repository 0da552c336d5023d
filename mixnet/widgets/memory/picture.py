"""MemoryView's static picture: all plans on one scale, and the boxes and peak of the selected one."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from typing import Any

from mixnet.units import digits, how_many, size_text, ticks, time_text
from mixnet.widgets.svg import Svg, text_width

KINDS = {"A": (0, "saved for backward"), "F": (5, "forward only"),
         "B": (1, "made by backward"), "R": (3, "recomputed"), "O": (2, "output"),
         "L": (0, "array"), "E": (7, "existed before")}  # fmt: skip
"""Colour and meaning of each letter."""

MOST = 1500
"""Boxes of a plan that a picture draws: the largest."""

_WIDTH = 980


def than(none: float, size: float) -> str:
    """How a size compares with that of no sharing: ``3.65 times less``."""
    if size == none:
        return "the same"
    if size > none:
        return f"{digits(size / max(none, 1))} times more"
    return f"{digits(none / max(size, 1))} times less"


def array_name(graph: dict[str, Any], number: int, column: str = "name") -> str:
    """An array's name: its operation's, with the number of the output where there are several.

    Args:
        graph: of a payload.
        number: of an array.
        column: ``name`` for the name in the program, ``node`` for that in the graph.
    """
    columns = graph["arrays"]
    index = columns["index"][number]
    name = graph["steps"].get(column, graph["steps"]["name"])[columns["step"][number]]
    return name if index < 0 else f"{name}[{index}]"


def source_text(payload: dict[str, Any], graph: dict[str, Any], number: int) -> str:
    """``file:line: text`` of the line that an array comes from; empty if that is not known."""
    source = graph["steps"]["source"][graph["arrays"]["step"][number]]
    if source < 0:
        return ""
    file, line, text, _ = payload["sources"][source]
    return f"{file.rpartition('/')[2]}:{line}: {text}"


def lives(graph: dict[str, Any], plan: dict[str, Any]) -> list[tuple[float, float]]:
    """Begin and end of every storage."""
    columns = graph["arrays"]
    ranges: list[tuple[float, float]] = [(float("inf"), 0.0)] * len(plan["size"])
    for storage, begin, end in zip(plan["storage"], columns["begin"], columns["end"], strict=True):
        if storage >= 0:
            low, high = ranges[storage]
            ranges[storage] = min(low, begin), max(high, end)
    return ranges


def alive_at(graph: dict[str, Any], plan: dict[str, Any], at: float) -> list[int]:
    """Arrays whose storages are needed at a time, one for each storage, the largest first.

    Of several arrays that share a storage it is the one that was written last.
    """
    columns = graph["arrays"]
    needed = {n for n, (begin, end) in enumerate(lives(graph, plan)) if begin <= at < end}
    holder: dict[int, int] = {}
    for number, storage in enumerate(plan["storage"]):
        if storage in needed and columns["begin"][number] <= at:
            before = holder.get(storage)
            if before is None or columns["begin"][before] <= columns["begin"][number]:
                holder[storage] = number
    return [holder[storage] for storage in sorted(holder, key=lambda s: (-plan["size"][s], s))]


def live_curve(graph: dict[str, Any], plan: dict[str, Any]) -> list[tuple[float, int]]:
    """Times at which the bytes of the storages in use change, and the bytes from then on."""
    change: dict[float, int] = {}
    for (begin, end), size in zip(lives(graph, plan), plan["size"], strict=True):
        change[begin] = change.get(begin, 0) + size
        change[end] = change.get(end, 0) - size
    times = sorted(change)
    return list(zip(times, accumulate(change[each] for each in times), strict=True))


def boxes(graph: dict[str, Any], plan: dict[str, Any]) -> list[tuple[int, float, float, int, int]]:
    """Array, begin, end, offset, bytes of every box; where an array is overwritten in place its box ends."""
    columns = graph["arrays"]
    in_storage: dict[int, list[int]] = {}
    for number, storage in enumerate(plan["storage"]):
        if storage >= 0:
            in_storage.setdefault(storage, []).append(number)
    rows = []
    for storage, numbers in in_storage.items():
        numbers.sort(key=lambda n: columns["begin"][n])
        for number, after in zip(numbers, [*numbers[1:], None], strict=True):
            end = columns["end"][number]
            if after is not None:
                end = min(end, max(columns["begin"][after], columns["begin"][number]))
            offset = plan["offset"][storage]
            rows.append((number, columns["begin"][number], end, offset, columns["bytes"][number]))
    return rows


def picture(payload: dict[str, Any], plan: dict[str, Any], label: str) -> str:
    """The SVG of a payload with a plan chosen."""
    plans = payload["plans"]
    several = payload["unit"] == "step" and len(plans) > 1
    top = 218 if several else 12
    graph = payload["graphs"][plan["graph"]]
    svg = Svg(_WIDTH, top + 330, label)
    if several:
        _strip(svg, payload, plans, plan)
    _main(svg, payload, graph, plan, 56, top + 30, 560, 250)
    _alive(svg, payload, graph, plan, 650, top + 20)
    return str(svg)


def plan_picture(
    payload: dict[str, Any], plan: dict[str, Any], label: str, width: float, height: float
) -> str:
    """The boxes of one plan alone."""
    svg = Svg(width, height, label)
    graph = payload["graphs"][plan["graph"]]
    _main(svg, payload, graph, plan, 56, 30, width - 64, height - 74)
    return str(svg)


def _strip(svg: Svg, payload: dict[str, Any], plans: list[Any], chosen: object) -> None:
    """All plans side by side, to one scale: what sharing saves is what one sees."""
    check = payload["check"]
    count = len(plans) + (check["xla"] is not None)
    width = (_WIDTH - 20) / count
    highest = max(*(each["total"] for each in plans), check["xla"] or 0, 1)
    floor, scale = 176.0, 140 / highest
    none = plans[0]["total"]
    svg.text(10, 18, "Memory of each plan, on the same scale", bold=True)
    for i, each in enumerate(plans):
        x = 10 + i * width
        graph = payload["graphs"][each["graph"]]
        high = max(each["total"] * scale, 1)
        svg.rect(x + 4, floor - high, width - 12, high, "f-box s-line")
        _fill(svg, graph, each, x + 4, floor, (width - 12) / max(graph["length"], 1e-9), scale, 400)
        style = "f-hot" if each is chosen else "f-fg"
        svg.text(
            x + 4,
            floor + 15,
            f"{each['name']}  {size_text(each['total'])}",
            style,
            12,
            bold=True,
        )
        note = than(none, each["total"]) if i else "no sharing"
        svg.text(x + 4, floor + 30, note, "f-dim", 11)
    if check["xla"] is not None:
        x, high = 10 + len(plans) * width, check["xla"] * scale
        svg.add(
            f'<rect class="s-line" fill="none" stroke-dasharray="4 3" x="{x + 4:.1f}" '
            f'y="{floor - high:.1f}" width="{width - 12:.1f}" height="{high:.1f}"/>'
        )
        svg.text(x + 4, floor + 15, f"XLA  {size_text(check['xla'])}", bold=True)
        svg.text(
            x + 4,
            floor + 30,
            f"on {check['platform']}: {than(none, check['xla'])}",
            "f-dim",
            11,
        )


def _fill(
    svg: Svg,
    graph: dict[str, Any],
    plan: dict[str, Any],
    x: float,
    floor: float,
    kx: float,
    ky: float,
    most: int = MOST,
) -> int:
    """Boxes as one path for each kind, so that files stay small.

    Returns:
        How many are not drawn, beyond the ``most`` largest.
    """
    ordered = sorted(boxes(graph, plan), key=lambda box: -(box[2] - box[1]) * box[4])
    paths: dict[str, list[str]] = {}
    for number, begin, end, offset, size in ordered[:most]:
        wide, high = max((end - begin) * kx, 0.5), size * ky
        if high >= 0.3:
            corner = f"M{x + begin * kx:.1f},{floor - offset * ky:.1f}"
            shape = f"{corner}h{wide:.1f}v-{high:.1f}h-{wide:.1f}z"
            paths.setdefault(graph["arrays"]["kind"][number], []).append(shape)
    for kind, parts in paths.items():
        colour = KINDS[kind][0]
        svg.add(f'<path class="c{colour} k{colour}" stroke-width=".5" d="{"".join(parts)}"/>')
    return max(len(ordered) - most, 0)


def _write_names(
    svg: Svg, graph: dict[str, Any], plan: dict[str, Any], x: float, floor: float, kx: float, ky: float
) -> None:  # fmt: skip
    """The names of arrays, where a box has room."""
    for number, begin, end, offset, size in boxes(graph, plan):
        name = array_name(graph, number)
        if (end - begin) * kx > text_width(name, 10) + 6 and size * ky > 12:
            middle = floor - (offset + size / 2) * ky
            svg.text(x + begin * kx + 3, middle + 4, name, "f-fg", 10)


def _main(
    svg: Svg, payload: dict[str, Any], graph: dict[str, Any], plan: dict[str, Any],
    x: float, y: float, width: float, height: float,
) -> None:  # fmt: skip
    """Boxes of one plan, what is needed at each time as a line, and the peak."""
    start = graph.get("start", 0)
    kx, ky = width / max(graph["length"] - start, 1e-9), height / max(plan["total"], 1)
    corner, x = x, x - start * kx  # x is where time 0 would be
    floor = y + height
    title = plan["name"] if payload["unit"] == "step" else f"{payload['name']} on {plan['name']}"
    svg.text(corner, y - 16, f"{title}: {size_text(plan['total'])}", bold=True)
    svg.rect(corner, y, width, height, "f-bg s-line")
    left_out = _fill(svg, graph, plan, x, floor, kx, ky)
    _write_names(svg, graph, plan, x, floor, kx, ky)
    if left_out:
        note = f"the {MOST:,} largest of {how_many(MOST + left_out, 'box')}"
        svg.text(corner + width, y - 16, note, "f-dim", 11, "end")
    for region in graph["regions"]:
        left = x + region["begin"] * kx
        svg.text(left + 2, floor + 14, region["name"], "f-dim", 11)
        if region["begin"]:
            svg.line(left, y, left, floor + 16, "s-line", dashed=True)
    _draw_needed(svg, live_curve(graph, plan), (corner, floor), width, kx, ky, x)
    at = x + (plan["peak"]["at"] + (0.5 if payload["unit"] == "step" else 0)) * kx
    svg.line(at, y - 4, at, floor, "s-hot")
    left = at > corner + width / 2
    svg.text(
        at,
        y - 5,
        f"peak {size_text(plan['peak']['bytes'])}",
        "f-hot",
        11,
        "end" if left else "start",
    )
    for mark in ticks(0, plan["total"]):
        if mark % 1:  # of a byte
            continue
        svg.text(corner - 4, floor - mark * ky + 4, size_text(mark), "f-dim", 10, "end")
    end = (
        how_many(graph["length"], "step")
        if payload["unit"] == "step"
        else time_text(graph["length"] / 1e6)
    )
    svg.text(corner + width, floor + 14, end, "f-dim", 11, "end")
    _legend(svg, graph, corner, floor, width)


def _draw_needed(
    svg: Svg, curve: Iterable[tuple[float, float]], origin: tuple[float, float], width: float,
    kx: float, ky: float, x: float,
) -> None:  # fmt: skip
    """The bytes needed at each time, as a line; what changes within half a pixel is one stroke."""
    corner, floor = origin
    points, level, last = [(corner, floor)], 0.0, corner
    low = high = floor
    for at, size in [*curve, (float("inf"), 0)]:
        if x + at * kx > last + 0.5:
            points += [(last, low), (last, high), (last, floor - level * ky)]
            last = min(x + at * kx, corner + width)
            low = high = floor - level * ky
            points.append((last, low))
        level = size
        low, high = max(low, floor - size * ky), min(high, floor - size * ky)
    svg.polyline(points, "k7")


def _legend(svg: Svg, graph: dict[str, Any], corner: float, floor: float, width: float) -> None:
    left = corner
    for kind in (each for each in KINDS if each in graph["arrays"]["kind"]):
        colour, text = KINDS[kind]
        svg.rect(left, floor + 23, 13, 13, f"c{colour} k{colour}")
        svg.text(left + 6.5, floor + 33, kind, "f-fg", 10, "middle")
        svg.text(left + 17, floor + 33, text, "f-dim", 10.5)
        left += 30 + 5.7 * len(text)
    if left + 90 < corner + width:
        svg.line(left, floor + 29, left + 14, floor + 29, "k7")
        svg.text(left + 18, floor + 33, "bytes needed", "f-dim", 10.5)


def _alive(
    svg: Svg, payload: dict[str, Any], graph: dict[str, Any], plan: dict[str, Any], x: float, y: float
) -> None:  # fmt: skip
    at = plan["peak"]["at"]
    where = f"step {at + 1}" if payload["unit"] == "step" else time_text(at / 1e6)
    numbers = alive_at(graph, plan, at)
    svg.text(x, y, f"Alive at the peak ({where}): {how_many(len(numbers), 'array')}", bold=True)
    for i, number in enumerate(numbers[:15]):
        size = graph["arrays"]["bytes"][number]
        colour = KINDS[graph["arrays"]["kind"][number]][0]
        svg.rect(x, y + 9 + i * 17, 12, 12, f"c{colour} k{colour}")
        svg.text(x + 6, y + 18.5 + i * 17, graph["arrays"]["kind"][number], "f-fg", 9, "middle")
        svg.text(x + 86, y + 19 + i * 17, size_text(size), "f-fg", 11, "end")
        name = array_name(graph, number)
        line = source_text(payload, graph, number)
        name = f"{name} {line}" if payload["unit"] != "step" and line else name
        svg.text(x + 94, y + 19 + i * 17, name, "f-fg", 11, room=210)
    if len(numbers) > 15:
        svg.text(x, y + 20 + 15 * 17, f"and {len(numbers) - 15} more", "f-dim", 11)
