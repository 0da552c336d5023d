"""Error messages for ``einsum`` subscripts that do not match the arrays."""

from __future__ import annotations

from collections.abc import Sequence


def einsum_problem(subscripts: str, shapes: Sequence[tuple[int, ...]]) -> str | None:
    """What is wrong and how it would be right; None if nothing is.

    Args:
        subscripts: as in ``ij,jk->ik``; an ellipsis stands for any axes.
        shapes: those of the arrays.
    """
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    for each in (*terms, right):
        rest = each.replace("...", "", 1)
        strange = next((c for c in rest if not (c.isascii() and c.isalpha())), None)
        if strange is not None:
            return f"{strange!r} is not a label; labels are letters, as in 'ij,jk->ik'"
    if len(terms) != len(shapes):
        return (
            f"there are {len(terms)} terms for {len(shapes)} arrays; give one term for each array"
        )
    extents: dict[str, tuple[int, int]] = {}
    for number, (term, shape) in enumerate(zip(terms, shapes, strict=True)):
        labels = _labels_of_axes(term, len(shape))
        if labels is None:
            return (
                f"term {number}, {term!r}, names {len(term.replace('...', ''))} axes, array {number} has "
                f"{len(shape)}; name each axis once, or put '...' for those that are kept"
            )
        for label, extent in labels:
            known, at = extents.setdefault(label, (shape[extent], number))
            if 1 not in (known, shape[extent]) and known != shape[extent]:
                return (
                    f"label {label!r} is {known} in array {at} and {shape[extent]} in array {number}; the "
                    f"extents of one label are equal"
                )
    if arrow:
        unknown = next((c for c in right.replace("...", "") if c not in extents), None)
        if unknown is not None:
            return f"label {unknown!r} of the result is in no term"
        twice = next((c for c in right.replace("...", "") if right.count(c) > 1), None)
        if twice is not None:
            return f"label {twice!r} is twice in the result"
    return None


def _labels_of_axes(term: str, ndim: int) -> list[tuple[str, int]] | None:
    """Pairs of a label and its axis; None if there are more or fewer labels than axes."""
    before, dots, after = term.partition("...")
    if len(before) + len(after) > ndim or (not dots and len(before) != ndim):
        return None
    pairs = [(label, i) for i, label in enumerate(before)]
    return pairs + [(label, ndim - len(after) + i) for i, label in enumerate(after)]
