"""DCASGD: gradient descent with delay compensation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.steps import Step
from mixnet.ops.schema.attributes import Scalar
from mixnet.ops.update.arithmetic import as_kind, prepared
from mixnet.optimizer.base import Optimizer, register
from mixnet.optimizer.refusal import is_plain
from mixnet.optimizer.rule import rule

if TYPE_CHECKING:
    from mixnet.optimizer.base import Index


def _step_of(grad, weight, previous, lr, wd, lamda):
    compensated = grad + as_kind(wd, weight) * weight + lamda * grad * grad * (weight - previous)
    return -as_kind(lr, weight) * compensated


@rule("previous")
def dcasgd_update(
    weight,
    grad,
    previous,
    *,
    lr: Scalar,
    wd: Scalar,
    rescale_grad: Scalar,
    lamda: float,
    clip_gradient: float | None = None,
):
    """One step; ``previous`` becomes the weight before it."""
    gradient = prepared(grad, weight, rescale_grad, clip_gradient)
    return weight + _step_of(gradient, weight, previous, lr, wd, lamda), weight


@rule("velocity", "previous")
def dcasgd_mom_update(
    weight,
    grad,
    velocity,
    previous,
    *,
    lr: Scalar,
    wd: Scalar,
    rescale_grad: Scalar,
    momentum: float,
    lamda: float,
    clip_gradient: float | None = None,
):
    """One step with momentum."""
    gradient = prepared(grad, weight, rescale_grad, clip_gradient)
    velocity = momentum * velocity + _step_of(gradient, weight, previous, lr, wd, lamda)
    return weight + velocity, velocity, weight


@register
class DCASGD(Optimizer):
    """Gradient descent for workers that lag behind: the gradient is corrected for the delay.

        step   ← −lr · (gradient + wd · weight + lamda · gradient² · (weight − previous weight))
        weight ← weight + step

    Source: Zheng et al., 2017.

    Args:
        momentum: fraction of the last step that carries over to the next, in [0, 1).
        lamda: scale of the correction.
        kwargs: ``learning_rate``, ``wd``, ``rescale_grad``, ...; see :class:`Optimizer`.
    """

    def __init__(self, momentum: float = 0.0, lamda: float = 0.04, **kwargs: Any):
        super().__init__(**kwargs)
        self.momentum = momentum
        self.weight_previous: dict[Any, Any] = {}
        self.lamda = lamda

    def create_state(self, index: Index, weight: NDArray) -> Any:
        """The velocity, None without momentum, and the weight before the last step."""
        velocity = None if self.momentum == 0.0 else self._mx_zeros(weight)
        return velocity, weight.copy()

    def _mx_steps(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> list[Step]:
        """The rule of one step."""
        self._update_count(index)
        numbers = self._mx_numbers(index)
        numbers |= {"lamda": self.lamda, "clip_gradient": self.clip_gradient}
        velocity, previous = state
        if is_plain(self, velocity):
            return [Step.of(dcasgd_update, (weight, grad, previous), numbers)]
        else:
            numbers["momentum"] = self.momentum
            return [Step.of(dcasgd_mom_update, (weight, grad, velocity, previous), numbers)]
