"""How an update rule is declared: one step of an optimizer for one weight.

A rule returns the new weight, then the new states. What changes from step to step (rates, decays,
the number of the step) is an input of the program, so that a schedule compiles nothing.
"""

from __future__ import annotations

from functools import partial

from mixnet.ops.registry import op
from mixnet.ops.schema.shape_constraints import all_same

#: Decorator like :func:`~mixnet.ops.registry.op`, with what nearly all rules declare: weight, gradient
#: and states have one shape and one floating dtype, and an update has no gradient.
update_rule = partial(
    op, floats=True, one_dtype=True, differentiable=False, shape_constraint=all_same
)
