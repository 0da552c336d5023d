"""How an update rule is declared: one step of an optimizer for one weight.

A rule returns the new weight, then the new states. What changes from step to step (rates, decays,
the number of the step) is an input of the program, so that a schedule compiles nothing.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from mixnet.base import ShapeError
from mixnet.ops.op import Op
from mixnet.ops.registry import op
from mixnet.ops.schema.shape_constraints import Constraint, all_same


def update_rule(
    name: str, *, shape_constraint: Constraint | None = all_same, **declaration: Any
) -> Callable[[Callable[..., Any]], Op]:
    """Decorator like :func:`~mixnet.ops.registry.op`, with what nearly all rules declare: weight, gradient
    and states have one shape and one floating dtype, and an update has no gradient.

    Args:
        name: of the operator.
        shape_constraint: how the shapes determine each other.
        declaration: see ``op``; it may differ from the usual.
    """
    usual = {"floats": True, "one_dtype": True, "differentiable": False}
    declare = op(name, shape_constraint=shape_constraint, **{**usual, **declaration})

    def decorate(function: Callable[..., Any]) -> Op:
        parameters = inspect.signature(function).parameters.values()
        names = [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]

        @functools.wraps(function)
        def without_broadcasting(*arrays: Any, **attributes: Any) -> Any:
            shape = arrays[0].shape
            for each, array in zip(names, arrays, strict=False):
                if array.shape != shape:
                    raise ShapeError(
                        f"{name}: {each} has shape {array.shape}, the {names[0]} {shape}; both must have "
                        f"the same shape. Reshape one."
                    )
            return function(*arrays, **attributes)

        return declare(without_broadcasting if shape_constraint is all_same else function)

    return decorate
