"""Update rules: pure functions on the arrays of one weight, each recorded as one operation.

Rules that MXNet has operators for, and how a gradient is prepared, are in
``mixnet.ops.update``; those that it writes out in Python stand beside the optimizer that
they belong to. What changes from step to step is a ``Scalar``: an input of the compiled program, so
that a schedule compiles nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mixnet.ops.op import Op


def rule(*states: str, draws_as_mxnet: bool = False) -> Callable[[Callable[..., Any]], Op]:
    """Decorator: ``rule(weight, grad, *states, *, numbers)`` gives new weight, then new states.

    Args:
        states: names of the parameters that are states.
        draws_as_mxnet: see :class:`mixnet.ops.op.Op`.
    """

    def declare(function: Callable[..., Any]) -> Op:
        return Op(
            function.__name__, function, states=states, differentiable=False,
            draws_as_mxnet=draws_as_mxnet,
        )  # fmt: skip

    return declare
