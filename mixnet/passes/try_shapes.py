"""Inference from partly known shapes, by trying values for the unknown extents.

An operator is evaluated at several extents. An extent of the result that is always the same does not
depend on the unknown ones; one that doubles with an extent of the input corresponds to it. So shapes
are inferred forward and backward without a rule for each operator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, islice, product
from typing import Any

Shape = tuple[int, ...]
Outputs = Callable[[Shape], Sequence[Shape]]
Place = tuple[Any, int]

# The trial value of an unknown extent: large, with many divisors, for strides. Its double is tried, too.
TRIAL = 960
_MOST_TRIED = 48  # the most combinations of extents that are tried
_MOST_EXCLUDED = 128  # the most that are tried to show that no other one fits


def forward_from(
    function: Callable[[dict[Any, Shape]], Mapping[Any, Shape]],
    shapes: Mapping[Any, Shape],
    least: int,
) -> dict[Any, Shape] | None:
    """Shapes that follow from partly known ones, with -1 for an extent that depends on unknown ones.

    Args:
        function: returns the shapes that follow from complete ones; raises an error if they contradict each
            other.
        shapes: shapes by a key; extents below ``least`` are unknown.
        least: the least extent that is known.

    Returns:
        None if no trial values fit.
    """
    places = [
        (key, axis)
        for key, shape in shapes.items()
        for axis, extent in enumerate(shape)
        if extent < least
    ]
    results = [
        result
        for fixed in _fits_together(function, shapes, places)
        for number in (TRIAL, 2 * TRIAL, 1)
        if (result := _at(function, shapes, places, fixed, number)) is not None
    ]
    return _common(results) if results else None


def _at(
    function: Callable[..., Any],
    shapes: Any,
    places: list[Place],
    fixed: Mapping[Place, int],
    number: int,
) -> Any:
    """The result with some extents ``fixed`` and ``number`` for the others; None if these do not fit."""
    tried = {key: list(shape) for key, shape in shapes.items()}
    for key, axis in places:
        tried[key][axis] = fixed.get((key, axis), number)
    try:
        return function({key: tuple(shape) for key, shape in tried.items()})
    except Exception:  # for whatever reason the operator does not take them
        return None


def _fits_together(
    function: Callable[..., Any], shapes: Any, places: list[Place]
) -> Iterator[Mapping[Place, int]]:
    """Extents that some unknowns must have so that the others are free, such as those of other inputs."""
    if _at(function, shapes, places, {}, TRIAL) is not None:
        yield {}
        return
    known = {extent for shape in shapes.values() for extent in shape if extent > 0}
    if not known:
        return  # for a single unknown it would be a guess
    candidates = sorted(known | {1})
    choices = (
        dict(zip(chosen, extents, strict=True))
        for count in (1, 2)
        for chosen in combinations(places, count)
        for extents in product(candidates, repeat=count)
    )
    fixed_count = 0  # the number of unknowns that had to be fixed
    for fixed in islice(choices, _MOST_TRIED):
        if fixed_count and len(fixed) > fixed_count:
            return
        if _at(function, shapes, places, fixed, TRIAL) is not None:
            fixed_count = len(fixed)
            yield fixed


def only_extents(
    function: Callable[[dict[Any, Shape]], object],
    shapes: Mapping[Any, Shape],
    targets: Sequence[Any],
    least: int,
) -> dict[Any, Shape]:
    """Inputs with those unknown extents that only one value fits, such as the inner one of a product.

    Args:
        function: raises an error if it is called with shapes that do not fit each other or the results.
        shapes: shapes of the inputs by a key; extents below ``least`` are unknown.
        targets: the results' shapes, or None, likewise.
        least: the least extent that is known.
    """
    places = [(k, i) for k, shape in shapes.items() for i, e in enumerate(shape) if e < least]
    extents = {e for shape in (*shapes.values(), *targets) for e in shape or () if e > 0}

    def fits(fixed: Mapping[Place, int]) -> bool:
        return _at(function, shapes, places, fixed, TRIAL) is not None

    if not places or not extents or fits({}):
        return {}
    for count in (1, 2):
        choices = [
            dict(zip(chosen, values, strict=True))
            for chosen in combinations(places, count)
            for values in product(sorted(extents | {1}), repeat=count)
        ]
        if len(choices) > _MOST_EXCLUDED:
            return {}
        fitting = [choice for choice in choices if fits(choice)]
        if fitting:
            break
    else:
        return {}
    shared = dict(set.intersection(*(set(each.items()) for each in fitting)))
    # An extent that none of the known shapes has may fit, too.
    for place, extent in [*shared.items()]:
        others = {extent - 1, extent + 1, 2 * extent, 3 * extent} - {0}
        if any(fits({**fitting[0], place: other}) for other in others):
            del shared[place]
    completed = {key: list(shape) for key, shape in shapes.items()}
    for (key, axis), extent in shared.items():
        completed[key][axis] = extent
    return {key: tuple(shape) for key, shape in completed.items()}


def _common(results: Sequence[Mapping[Any, Shape]]) -> dict[Any, Shape]:
    """The extents that all results share, -1 for others; results of different ranks share nothing."""
    first, *others = results
    common = {}
    for key, shape in first.items():
        same = [other.get(key, ()) for other in others]
        if all(len(other) == len(shape) for other in same):
            common[key] = tuple(
                extent if all(other[axis] == extent for other in same) else -1
                for axis, extent in enumerate(shape)
            )
    return common


def input_of(outputs: Outputs, known: object, targets: Sequence[Any], least: int) -> Shape | None:
    """The shape of an operator's only input; None unless each of its axes appears in an output.

    Args:
        outputs: returns the shapes of all outputs for a shape of the input; raises an error if it is refused.
        known: the known part of the input's shape, with extents below ``least`` where unknown, or None.
        targets: shapes of the outputs, or None, likewise.
        least: the least extent that is known.
    """
    starts = [start for start in _ranks(known, targets) if _takes(outputs, start, targets, least)]
    if len(starts) != 1:  # inputs of several ranks have such outputs
        return None
    return _of_rank(outputs, starts[0], targets, least)


def _ranks(known: Any, targets: Sequence[Any]) -> Iterator[Shape]:
    if known is not None:
        yield tuple(known)
        return
    most = max(len(shape) for shape in targets if shape is not None)
    for rank in range(1, most + 3):
        yield (-1,) * rank


def _tried(outputs: Outputs, start: Shape, least: int, doubled: int = -1) -> Sequence[Shape] | None:
    """Outputs with TRIAL for unknown extents, and twice that for one axis; None if these are refused."""
    numbers = [2 * TRIAL if axis == doubled else TRIAL for axis in range(len(start))]
    shape = [
        extent if extent >= least else number for extent, number in zip(start, numbers, strict=True)
    ]
    try:
        return outputs(tuple(shape))
    except Exception:  # for whatever reason
        return None


def _takes(outputs: Outputs, start: Shape, targets: Sequence[Any], least: int) -> bool:
    plain = _tried(outputs, start, least)
    return plain is not None and _fits(plain, targets)


def _of_rank(outputs: Outputs, start: Shape, targets: Sequence[Any], least: int) -> Shape | None:
    plain = _tried(outputs, start, least)
    shape = list(start)
    for axis in range(len(start)):
        if start[axis] < least:
            doubled = _tried(outputs, start, least, axis)
            if plain is None or doubled is None or not _fits(doubled, targets):
                return None
            extents = list(_extents(plain, doubled, targets, least))
            if not extents:
                return None
            shape[axis] = max(extents)
    return _confirmed(outputs, tuple(shape), targets, least)


def _fits(outputs: Sequence[Shape], targets: Sequence[Any]) -> bool:
    return all(
        shape is None or len(shape) == len(one)
        for one, shape in zip(outputs, targets, strict=False)
    )


def _extents(
    plain: Sequence[Shape], doubled: Sequence[Shape], targets: Sequence[Any], least: int
) -> Iterator[int]:
    """The extent of an axis implied by each output extent that doubles with it; -1 if that is unknown."""
    for first, second, shape in zip(plain, doubled, targets, strict=False):
        extents = (-1,) * len(first) if shape is None else shape
        for small, large, extent in zip(first, second, extents, strict=False):
            if small and large == 2 * small:
                ratio = Fraction(extent * TRIAL, small)
                if extent < least:
                    yield -1
                elif ratio.denominator == 1:
                    yield int(ratio)


def _confirmed(outputs: Outputs, shape: Shape, targets: Sequence[Any], least: int) -> Shape | None:
    """The shape, if it gives these outputs, and a slightly larger one gives others; otherwise None."""
    shapes = _tried(outputs, shape, least)
    if shapes is None or not _fits(shapes, targets) or _drops_ones(outputs, shape, shapes):
        return None
    for one, known in zip(shapes, targets, strict=False):
        for extent, wish in zip(one, known or (), strict=False):
            if wish >= least and extent != wish:
                return None
    for axis, extent in enumerate(shape):  # as for windows, whose number is rounded
        larger = (*shape[:axis], extent + 1, *shape[axis + 1 :])
        if extent >= least and _same(_tried(outputs, larger, least), shapes):
            return None
    return shape


def _drops_ones(outputs: Outputs, shape: Shape, shapes: Sequence[Shape]) -> bool:
    """Whether axes of extent 1 are dropped, so that the input may have had any number of them."""
    try:
        ones = outputs((1,) * len(shape))
    except Exception:  # it does not take such an input, for whatever reason
        return False
    return not _fits(ones, shapes)


def _same(first: Sequence[Shape] | None, second: Sequence[Shape]) -> bool:
    return first is not None and list(map(tuple, first)) == list(map(tuple, second))
