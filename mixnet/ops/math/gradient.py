"""Operators that change only the gradient: straight-through estimators and scaling."""

from __future__ import annotations

from mixnet.ops.op import Op
from mixnet.ops.registry import find, op
from mixnet.ops.schema.attributes import Scalar
from mixnet.ops.schema.rewrites import Rewrites


def _declare_straight_through(step: str, text: str) -> Op:
    name = f"_contrib_{step}_ste"

    def straight_through(data):
        return find(step).function(data)

    straight_through.__doc__ = (
        f"{text} Its gradient is that of the identity.\n\nSource: MXNet operator "
        f"``{name}``; Bengio, Leonard and Courville, 2013."
    )
    operator = op(name, aliases=[f"_sparse_{name}"], in_amp_lists=False)(straight_through)

    @operator.set_gradient
    def _(head, out, data):
        return (head,)

    return operator


round_ste = _declare_straight_through("round", "Nearest whole number, halves away from zero.")
sign_ste = _declare_straight_through("sign", "-1, 0 or 1.")


@op("_contrib_gradientmultiplier", rewrites=Rewrites(only_gradient=True, keeps_dtype=True))
def gradient_multiplier(data, *, scalar: Scalar = 1.0, is_int: bool = True):
    """The array as it is; its gradient is multiplied by ``scalar``.

    Source: MXNet operator ``_contrib_gradientmultiplier``.
    """
    return data


@gradient_multiplier.set_gradient
def _(head, out, data, *, scalar, is_int):
    return ((head * scalar).astype(head.dtype),)
