"""Trainer: one step of an optimizer over all parameters of a network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mixnet.autograd.scope import RecordingScope
from mixnet.base import MXNetError
from mixnet.gluon.parameter import Parameter, ParameterDict
from mixnet.ndarray.ndarray import NDArray
from mixnet.optimizer import Optimizer
from mixnet.optimizer import create as create_optimizer
from mixnet.runtime.record import flush
from mixnet.runtime.state import state


class Trainer:
    """Applies an optimizer to parameters after each backward.

    Args:
        params: a ``ParameterDict``, a dict or a list of parameters.
        optimizer: its name, or an optimizer.
        optimizer_params: arguments of the optimizer.
        kvstore: how gradients of several contexts are summed; taken as MXNet takes it.
    """

    def __init__(
        self,
        params: Any,
        optimizer: str | Optimizer,
        optimizer_params: Mapping[str, Any] | None = None,
        kvstore: Any = "device",
        compression_params: Any = None,
        update_on_kvstore: bool | None = None,
    ):
        if isinstance(params, (dict, ParameterDict)):
            params = [params[name] for name in sorted(params.keys())]
        self._params: list[Parameter] = []
        for each in params:
            if not isinstance(each, Parameter):
                raise MXNetError(
                    f"Trainer takes Parameters, not {type(each).__name__}; give it "
                    f"net.collect_params()."
                )
            self._params.append(each)
        numbered = dict(enumerate(self._params))
        given = dict(optimizer_params or {})
        if isinstance(optimizer, Optimizer):
            if given:
                raise MXNetError(
                    "Trainer: optimizer_params must be left out for an optimizer object."
                )
            self._optimizer = optimizer
            self._optimizer.param_dict = numbered
        else:
            self._optimizer = create_optimizer(optimizer, param_dict=numbered, **given)
        self._scale = self._optimizer.rescale_grad
        self._states: dict[tuple[int, Any], Any] = {}

    @property
    def optimizer(self) -> Optimizer:
        """The optimizer."""
        return self._optimizer

    @property
    def learning_rate(self) -> float:
        """The learning rate now."""
        return self._optimizer.learning_rate

    def set_learning_rate(self, lr: float) -> None:
        """Change the learning rate; nothing is compiled anew."""
        self._optimizer.set_learning_rate(lr)

    def step(self, batch_size: int, ignore_stale_grad: bool = False) -> None:
        """Sum gradients over contexts, then update all parameters.

        Args:
            batch_size: gradients are divided by it.
            ignore_stale_grad: leave parameters alone whose gradients no backward has written since
                the last step.

        Raises:
            UserWarning: such a gradient, unless it is to be ignored.
        """
        self.allreduce_grads()
        self.update(batch_size, ignore_stale_grad)

    def allreduce_grads(self) -> None:
        """Sum the gradients over the contexts of every parameter."""
        with RecordingScope(False, None):
            for each in self._params:
                if each.grad_req != "null" and len(each.list_ctx()) > 1:
                    _sum_over_contexts(each.list_grad())

    def update(self, batch_size: int, ignore_stale_grad: bool = False) -> None:
        """Update all parameters: one recorded step, whatever their number."""
        self._optimizer.rescale_grad = self._scale / batch_size
        with RecordingScope(False, None):
            for i, each in enumerate(self._params):
                if each.grad_req == "null":
                    continue
                for data in each.list_data():
                    if not self._is_fresh(each, data, ignore_stale_grad):
                        continue
                    key = (i, data.context)
                    if key not in self._states:
                        self._states[key] = self._optimizer.create_state(i, data)
                    self._optimizer.update(i, data, data.grad, self._states[key])
        flush("Trainer.step")

    @staticmethod
    def _is_fresh(parameter: Parameter, data: NDArray, ignore: bool) -> bool:
        mark = data._link.mark if data._link is not None else None
        if mark is None:
            return True
        if not mark.fresh and not ignore:
            raise UserWarning(
                f"Gradient of Parameter `{parameter.name}` on context {data.context} has not been "
                f"updated by backward since the last step. Call backward(), take the parameter out "
                f"of the Trainer, or pass ignore_stale_grad=True to leave it as it is."
            )
        if state.isolation is not None:
            state.isolation.note(mark, "fresh", mark.fresh)
        fresh, mark.fresh = mark.fresh, False
        return fresh


def _sum_over_contexts(gradients: list[NDArray]) -> None:
    first = gradients[0]
    total = first
    for each in gradients[1:]:
        total = total + each.as_in_context(first.context)
    for each in gradients:
        each[:] = total.as_in_context(each.context)
