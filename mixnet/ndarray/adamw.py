"""AdamW of ``mx.nd.contrib`` and ``mx.sym.contrib``, defined once; its loss scale may be a number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mixnet.ndarray.ndarray import NDArray

Call = Callable[[str, Sequence[Any], dict[str, Any], Any, "str | None"], Any]


def adamw_functions(
    scale: Callable[[Any, Any], Any], call: Call
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """``adamw_update`` and ``mp_adamw_update`` of arrays or of symbols.

    Args:
        scale: makes an array or a symbol of a loss scale, which may be one already, for a weight.
        call: calls an operator by its name, on arrays, with attributes, ``out`` and ``name``.
    """

    def adamw_update(
        weight: NDArray,
        grad: NDArray,
        mean: NDArray,
        var: NDArray,
        rescale_grad: float | NDArray,
        lr: float,
        eta: float,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        wd: float = 0,
        clip_gradient: float = -1,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
        **kwargs: object,
    ) -> Any:
        """One step of Adam with decoupled weight decay; ``eta`` scales both.

        Args:
            grad: the gradient, of the shape of ``weight``.
            mean: state, written.
            var: state, written.
            rescale_grad: the loss scale, a number or an array or symbol of one; where it is 0 or not finite,
                weight and states stay as they are.
            lr: learning rate.
            beta1: decay of ``mean``.
            beta2: decay of ``var``.
            epsilon: added to the root of ``var``, against division by 0.
            wd: decay.
            clip_gradient: largest absolute value of a gradient's elements; no limit if negative.
            out: an array for the new weight, usually ``weight``.
            name: of the node, for symbols.
            kwargs: further attributes of the operator.
        """
        attributes = {
            "lr": lr, "eta": eta, "beta1": beta1, "beta2": beta2, "epsilon": epsilon, "wd": wd,
            "clip_gradient": clip_gradient, **kwargs,
        }  # fmt: skip
        arrays = [weight, grad, mean, var, scale(rescale_grad, weight)]
        return call("_adamw_update", arrays, attributes, out, name)

    def mp_adamw_update(
        weight: NDArray,
        grad: NDArray,
        mean: NDArray,
        var: NDArray,
        weight32: NDArray,
        rescale_grad: float | NDArray,
        lr: float,
        eta: float,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        wd: float = 0,
        clip_gradient: float = -1,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
        **kwargs: object,
    ) -> Any:
        """``adamw_update`` of a half-precision weight with its float32 copy ``weight32``, written.

        Args:
            grad: the gradient, of the dtype of ``weight``.
            mean: state in float32, written.
            var: state in float32, written.
            rescale_grad: as for ``adamw_update``.
            lr: learning rate.
            eta: multiplies the step and the decay.
            beta1: decay of ``mean``.
            beta2: decay of ``var``.
            epsilon: added to the root of ``var``, against division by 0.
            wd: decay.
            clip_gradient: largest absolute value of a gradient's elements; no limit if negative.
            out: an array for the new weight, usually ``weight``.
            name: of the node, for symbols.
            kwargs: further attributes of the operator.
        """
        attributes = {
            "lr": lr, "eta": eta, "beta1": beta1, "beta2": beta2, "epsilon": epsilon, "wd": wd,
            "clip_gradient": clip_gradient, **kwargs,
        }  # fmt: skip
        arrays = [weight, grad, mean, var, weight32, scale(rescale_grad, weight)]
        return call("_mp_adamw_update", arrays, attributes, out, name)

    return adamw_update, mp_adamw_update
