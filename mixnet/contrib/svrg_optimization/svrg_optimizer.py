"""The optimizer of SVRG: an ordinary one for parameters, plain assignment for full gradients."""

from __future__ import annotations

from typing import Any

from mixnet.ndarray.ndarray import NDArray
from mixnet.optimizer import Optimizer, create, register
from mixnet.optimizer.base import Index

_SHARED = ("begin_num_update", "clip_gradient", "learning_rate", "lr_scheduler", "param_dict",
           "param_idx2name", "rescale_grad", "sym", "wd")  # fmt: skip


@register
class _AssignmentOptimizer(Optimizer):
    """Takes what a KVStore has summed as it is."""

    def update(self, index: Index, weight: NDArray, grad: NDArray, state: object) -> None:
        """``weight`` becomes ``grad``."""
        weight[:] = grad


@register
class _SVRGOptimizer(Optimizer):
    """Updates parameters with another optimizer, and assigns keys that end in ``_full``.

    Args:
        default_optimizer: an optimizer or its name.
        kwargs: its arguments.
    """

    def __init__(self, default_optimizer: Any, **kwargs: object):
        super().__init__(**self._check_params(**kwargs))
        self.default_opt: Optimizer = (
            create(default_optimizer, **kwargs)
            if isinstance(default_optimizer, str)
            else default_optimizer
        )
        self.aux_opt = create(_AssignmentOptimizer.__name__)

    @staticmethod
    def _check_params(**kwargs: object) -> dict[str, Any]:
        """Those arguments that every optimizer has."""
        return {name: value for name, value in kwargs.items() if name in _SHARED}

    def _of(self, index: object) -> Optimizer:
        name = self._check_index(index)
        return self.aux_opt if str(name).endswith("_full") else self.default_opt

    def _check_index(self, index: object) -> Any:
        """Name of a parameter, from its name or its number."""
        return index if index in self.idx2name.values() else self.idx2name.get(index, index)

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """The state that the optimizer of a parameter keeps."""
        return self._of(index).create_state_multi_precision(index, weight)

    def update(self, index: Index, weight: NDArray, grad: NDArray, state: object) -> None:
        """One step of the optimizer of a parameter."""
        self._of(index).update_multi_precision(index, weight, grad, state)
