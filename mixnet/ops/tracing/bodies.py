"""Shapes in loops and branches: those of the inputs and results of their bodies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mixnet.private_jax.calls import counts_of_scan
from mixnet.private_jax.equation import Equation

Shape = tuple[int, ...]
Params = Mapping[str, Any]

HAVE_BODIES = frozenset({"scan", "while", "cond"})
"""The primitives that are loops and branches."""


def body_inputs(
    equation: Equation, params: Params, shapes: Sequence[Shape]
) -> dict[str, list[Shape]] | None:
    """The shapes that each body reads, by the attribute that holds it; None if they do not fit.

    Args:
        equation: a loop or branch, traced for other shapes.
        params: its attributes; the bodies may be missing.
        shapes: the shapes of its inputs.
    """
    name = equation.primitive.name
    if name == "scan":
        constants, carried = counts_of_scan(equation)
        rows = shapes[constants + carried :]
        if any(not row or row[0] != params["length"] for row in rows):
            return None
        return {"jaxpr": [*shapes[: constants + carried], *[row[1:] for row in rows]]}
    if name == "while":
        of_test, of_body = params["cond_nconsts"], params["body_nconsts"]
        carries = shapes[of_test + of_body :]
        return {
            "cond_jaxpr": [*shapes[:of_test], *carries],
            "body_jaxpr": [*shapes[of_test : of_test + of_body], *carries],
        }
    if name == "cond":
        return {"branches": list(shapes[1:])}
    return None


def body_results(equation: Equation, params: Params, shapes: Sequence[Shape]) -> list[Shape] | None:
    """The shapes of the results of a loop or branch; None if those of its body do not fit.

    Args:
        equation: traced for other shapes.
        params: its attributes, with the bodies for these shapes.
        shapes: the shapes of its inputs.
    """
    name = equation.primitive.name
    if name == "cond":
        first, *others = [_results(branch) for branch in params["branches"]]
        return first if all(other == first for other in others) else None
    if name == "while":
        carries = list(shapes[params["cond_nconsts"] + params["body_nconsts"] :])
        return carries if _results(params["body_jaxpr"]) == carries else None
    constants, carried = counts_of_scan(equation)
    results = _results(params["jaxpr"])
    if results[:carried] != list(shapes[constants : constants + carried]):
        return None
    return [*results[:carried], *[(params["length"], *shape) for shape in results[carried:]]]


def _results(body: Any) -> list[Shape]:
    return [aval.shape for aval in body.out_avals]
