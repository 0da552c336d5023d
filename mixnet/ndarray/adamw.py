"""AdamW of ``mx.nd.contrib`` and ``mx.sym.contrib``, defined once; its loss scale may be a number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mixnet.ndarray.signed import signed
from mixnet.ops.registry import find

_DEFAULTS = {
    "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "wd": 0, "clip_gradient": -1, "out": None, "name": None,
}  # fmt: skip
_DESCRIPTIONS = {
    "weight": "the weight.",
    "grad": "the gradient, of the shape and dtype of ``weight``.",
    "mean": "state, which is written.",
    "var": "state, which is written.",
    "weight32": "float32 copy of ``weight``, which is written; the states are float32, too.",
    "rescale_grad": "the loss scale, a number or an array or symbol of one; where it is 0 or not finite, "
    "weight and states stay as they are.",
    "lr": "learning rate.",
    "eta": "factor of the step and of the decay.",
    "beta1": "decay of ``mean``.",
    "beta2": "decay of ``var``.",
    "epsilon": "added to the root of ``var``, against division by 0.",
    "wd": "weight decay.",
    "clip_gradient": "largest absolute value of a gradient's elements; no limit if negative.",
    "out": "an array for the new weight, usually ``weight``.",
    "name": "of the node, for symbols.",
    "kwargs": "further attributes of the operator.",
}


def adamw_function(
    operator: str,
    scale: Callable[[Any, Any], Any],
    call: Callable[[str, Sequence[Any], dict[str, Any]], Any],
    module: str,
) -> Callable[..., Any]:
    """``adamw_update`` or ``mp_adamw_update``, of arrays or of symbols.

    Args:
        operator: its name; its last input is the loss scale.
        scale: makes an array or a symbol of a loss scale, which may be one already, for a weight.
        call: calls an operator by its name, on inputs, with attributes, ``out`` and ``name``.
        module: where the function is a global.
    """
    *own, _ = inputs = find(operator).arrays

    def update(*, rescale_grad: Any, **arguments: Any) -> Any:
        """One step of Adam with decoupled weight decay."""
        arrays = [arguments.pop(each) for each in own]
        return call(operator, [*arrays, scale(rescale_grad, arrays[0])], arguments)

    update.__name__ = operator.removeprefix("_")
    function = signed(update, [*inputs, "lr", "eta"], _DEFAULTS, _DESCRIPTIONS)
    function.__module__ = module  # where pickle looks for it
    return function
