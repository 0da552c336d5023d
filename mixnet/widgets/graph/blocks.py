"""The blocks of a picture: which blocks get a box, and repeated blocks folded into one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mixnet.widgets.graph.rows import twin

Path = tuple[str, ...]
FOLD = 3  # as many equal blocks in a row become one, "unit ×36"


@dataclass
class Block:
    """A box that opens.

    Args:
        label: shown.
        parent: number of the block that contains it, -1 for none.
        repeat: how many equal blocks it folds; 0 for a block of the network.
        kind: class of the Gluon block, or empty.
        prefix: what names of nodes in it begin with.
    """

    label: str
    parent: int
    repeat: int = 0
    kind: str = ""
    prefix: str = ""


def blocks_of(
    rows: Sequence[Mapping[str, Any]], kinds: Mapping[Path, tuple[str, str]]
) -> tuple[list[Block], list[int]]:
    """Blocks, parents before children, and for each row the block that contains it, -1 for none.

    A block of fewer than two operations is no box of its own, and neither is one that holds all that its
    parent holds.
    """
    operations = _operations(rows)
    boxes = {path for path in operations if path and _is_box(path, operations)}

    def box(path: Path) -> Path:
        while path and path not in boxes:
            path = path[:-1]
        return path

    folds = _folds(rows, boxes, operations, box)
    blocks: list[Block] = []
    number: dict[Any, int] = {(): -1}

    def add(path: Path) -> int:
        if path in number:
            return number[path]
        parent = add(box(path[:-1]))
        fold = folds.get(path)
        if fold is not None:
            if fold not in number:
                label, count = fold[1:3]
                number[fold] = len(blocks)
                kind = kinds.get(path, ("", ""))[0]
                blocks.append(Block(label, parent, count, kind, _prefix(kinds, box(path[:-1]))))
            parent = number[fold]
        kind, prefix = kinds.get(path, ("", ""))
        number[path] = len(blocks)
        blocks.append(Block(path[-1], parent, 0, kind, prefix or "/".join(path)))
        return number[path]

    return blocks, [add(box(row["path"])) for row in rows]


def labels_of(
    rows: Sequence[Mapping[str, Any]],
    blocks: Sequence[Block],
    of: Sequence[int],
    kinds: Mapping[Path, tuple[str, str]],
) -> dict[str, str]:
    """Labels, by number, of nodes whose block has no box: ``out``, ``out.weight``, and ``∇ out`` for
    gradients.

    Names are given by class and number (``dense1_fwd``); a reader knows the attribute, ``self.out``.
    """
    labels: dict[str, str] = {}
    number = {row["name"]: place for place, row in enumerate(rows)}
    for row, block in zip(rows, of, strict=True):
        depth = 0
        while block >= 0:
            depth += not blocks[block].repeat
            block = blocks[block].parent
        inner, prefix = row["path"][depth:], kinds.get(row["path"], ("", ""))[1]
        if not inner or not prefix or not row["name"].startswith(prefix):
            continue
        tail = re.sub(r"^fwd(_|$)", "", row["name"].removeprefix(prefix))
        labels[str(row["id"])] = ".".join([*inner, *filter(None, [tail.strip("_")])])
    for row in rows:
        own = number.get(twin(row["name"]))
        if row["part"] == "backward" and own is not None and rows[own] is not row:
            prefixes = [blocks[of[own]].prefix if of[own] >= 0 else "", _prefix(kinds, ())]
            known = labels.get(str(rows[own]["id"]))
            labels[str(row["id"])] = f"∇ {known or plain_name(rows[own]['name'], prefixes)}"
    return labels


def plain_name(name: str, prefixes: Sequence[str]) -> str:
    """A name without the first of these prefixes that it begins with, and without graphs around it.

    The only operation of a block has the name of the block: ``dense0`` for ``dense0_fwd``.
    """
    base = name.removesuffix("_fwd")
    prefix = next(
        (each for each in prefixes if each and base.startswith(each) and base != each), ""
    )
    return base.removeprefix(prefix).rpartition("/")[2].lstrip("_") or name


def _prefix(kinds: Mapping[Path, tuple[str, str]], path: Path) -> str:
    return kinds.get(path, ("", ""))[1]


def _operations(rows: Sequence[Mapping[str, Any]]) -> dict[Path, list[int]]:
    """Operations of forward (of all, where there are none) in each path and below it."""
    forward: dict[Path, list[int]] = {}
    every: dict[Path, list[int]] = {}
    for row in rows:
        for depth in range(len(row["path"]) + 1):
            path = row["path"][:depth]
            every.setdefault(path, [])
            if row["op"] is not None:
                every[path].append(row["id"])
                if row["part"] == "forward":
                    forward.setdefault(path, []).append(row["id"])
    return {path: forward.get(path, inside) for path, inside in every.items()}


def _is_box(path: Path, operations: Mapping[Path, Sequence[int]]) -> bool:
    inside = len(operations[path])
    return 1 < inside < len(operations[path[:-1]])


def _folds(
    rows: Sequence[Mapping[str, Any]],
    retained: set[Path],
    operations: Mapping[Path, Sequence[int]],
    box: Any,
) -> dict[Path, tuple[Path, str, int, str]]:
    """For each path that is one of several equal boxes in a row: parent, label, number, first path."""
    by_id = {row["id"]: row for row in rows}

    def look(path: Path) -> Any:
        return tuple(
            (
                row["op"],
                tuple(row["attributes"].items()),
                str(row["outputs"]),
                row["path"][len(path) :],
            )
            for row in map(by_id.__getitem__, operations[path])
        )

    siblings: dict[Path, list[tuple[int, Path | None]]] = {}
    for inner in retained:
        siblings.setdefault(box(inner[:-1]), []).append((operations[inner][0], inner))
    for row in rows:  # an operation that stands between two boxes parts them
        if (
            row["op"] is not None
            and row["part"] == "forward"
            and (at := box(row["path"])) in siblings
        ):
            siblings[at].append((row["id"], None))
    folds: dict[Path, tuple[Path, str, int, str]] = {}
    for parent, children in siblings.items():
        run: list[Path] = []
        before = None
        ordered = [each for _, each in sorted(children, key=lambda child: child[0])]
        for path in [*ordered, None]:
            same = None if path is None else _plain(look(path))
            if run and same != before:
                if len(run) >= FOLD:
                    stem = _stem([each[-1] for each in run])
                    label = (parent, stem, len(run), "/".join(run[0]))
                    folds.update(dict.fromkeys(run, label))
                run = []
            if path is not None:
                run.append(path)
            before = same
    return folds


def _plain(look: Any) -> Any:
    """The operations of a block, with labels without numbers: ``conv3`` and ``conv4`` are equal."""
    return tuple(
        (op, attributes, outputs, tuple(re.sub(r"\d+", "", part) for part in inner))
        for op, attributes, outputs, inner in look
    )


def _stem(labels: Sequence[str]) -> str:
    """The common part of labels: ``unit`` of ``unit2``, ``unit3``."""
    stems = {re.sub(r"[\s_#]*\d+$", "", label) for label in labels}
    return stems.pop() if len(stems) == 1 and "" not in stems else labels[0]
