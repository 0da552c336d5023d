"""An optimizer to test other code with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.steps import Step
from mixnet.ops.schema.attributes import Scalar
from mixnet.ops.update.arithmetic import as_kind
from mixnet.optimizer.base import Optimizer, register
from mixnet.optimizer.rule import rule

if TYPE_CHECKING:
    from mixnet.optimizer.base import Index


@rule("copy")
def test_update(weight, grad, copy, *, rescale_grad: Scalar):
    """The gradient is added; the state is what the weight became."""
    weight = weight + grad * as_kind(rescale_grad, weight)
    return weight, weight.astype(copy.dtype)


@register
class Test(Optimizer):
    """Adds the gradient, scaled, and stores a copy of the weight; rates do not matter.

    Args:
        kwargs: ``rescale_grad``; see :class:`Optimizer`.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)

    def create_state(self, index: Index, weight: NDArray) -> Any:
        """Zeros; later a copy of the weight."""
        return self._mx_zeros(weight, "float32")

    def _mx_steps(self, index: Index, weight: NDArray, grad: NDArray, state: Any) -> list[Step]:
        """The rule of one step."""
        return [Step.of(test_update, (weight, grad, state), {"rescale_grad": self.rescale_grad})]
