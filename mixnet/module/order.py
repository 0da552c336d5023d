"""The required order of calls of a module (bind, init_params, init_optimizer)."""

from __future__ import annotations

import sys

from mixnet.base import CheckError

_STAGES = {
    "binded": ("is not bound to the shapes of a batch", "bind(data_shapes, label_shapes)"),
    "params_initialized": ("has no parameters", "init_params()"),
    "optimizer_initialized": ("has no optimizer", "init_optimizer()"),
    "inputs_need_grad": (
        "was bound without gradients of its inputs",
        "bind(..., inputs_need_grad=True)",
    ),
}


def require(module: object, *stages: str) -> None:
    """Raise an error if the calling method needs stages that the module has not reached.

    Args:
        module: the module.
        stages: its attributes that must be true, in the order in which they become true.

    Raises:
        CheckError: one is not; names the method and what to call first.
    """
    for stage in stages:
        if not getattr(module, stage):
            break
    else:
        return
    missing = [stage for stage in stages if not getattr(module, stage)]
    method = sys._getframe(1).f_code.co_name
    calls = [_STAGES[stage][1] for stage in missing]
    raise CheckError(
        f"{type(module).__name__}.{method}: the module {_STAGES[missing[0]][0]}. Call "
        f"{' and '.join([', '.join(calls[:-1]), calls[-1]] if calls[1:] else calls)} first."
    )
