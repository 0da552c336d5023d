"""Update rules of ``mx.sym.contrib`` whose loss scale may be a number."""

from __future__ import annotations

from typing import Any

from mixnet.ops.registry import find
from mixnet.symbol.create import full
from mixnet.symbol.symbol import Symbol, make_function


def _scale(rescale_grad: Any) -> Symbol:
    """The loss scale as a symbol."""
    return rescale_grad if isinstance(rescale_grad, Symbol) else full((1,), rescale_grad)


def adamw_update(
    weight: Symbol,
    grad: Symbol,
    mean: Symbol,
    var: Symbol,
    rescale_grad: Any,
    lr: float,
    eta: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0,
    clip_gradient: float = -1,
    out: Any = None,
    name: str | None = None,
    **kwargs: Any,
) -> Symbol:
    """One step of Adam with the decay apart from the gradient; ``eta`` scales both.

    Args:
        mean: state, written.
        var: state, written.
        rescale_grad: the loss scale, a number or a symbol of one; where it is 0 or not finite,
            weight and states stay as they are.
        wd: decay.
        clip_gradient: greatest size of a gradient's element, none if below 0.
    """
    attributes = {
        "lr": lr, "eta": eta, "beta1": beta1, "beta2": beta2, "epsilon": epsilon, "wd": wd,
        "clip_gradient": clip_gradient, **kwargs,
    }  # fmt: skip
    arrays = [weight, grad, mean, var, _scale(rescale_grad)]
    return make_function(find("_adamw_update"), "_adamw_update")(*arrays, name=name, **attributes)


def mp_adamw_update(
    weight: Symbol,
    grad: Symbol,
    mean: Symbol,
    var: Symbol,
    weight32: Symbol,
    rescale_grad: Any,
    lr: float,
    eta: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0,
    clip_gradient: float = -1,
    out: Any = None,
    name: str | None = None,
    **kwargs: Any,
) -> Symbol:
    """``adamw_update`` of a half-precision weight with its float32 copy ``weight32``, written."""
    attributes = {
        "lr": lr, "eta": eta, "beta1": beta1, "beta2": beta2, "epsilon": epsilon, "wd": wd,
        "clip_gradient": clip_gradient, **kwargs,
    }  # fmt: skip
    arrays = [weight, grad, mean, var, weight32, _scale(rescale_grad)]
    return make_function(find("_mp_adamw_update"), "_mp_adamw_update")(
        *arrays, name=name, **attributes
    )
