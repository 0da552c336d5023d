"""Dynamic loss scaling: keep half-precision gradients within their range.

The scale and whether a step overflowed are arrays. A step with an overflow is computed like any
other, and then its old values are kept: nobody waits to know.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from mixnet.autograd.scope import RecordingScope
from mixnet.context import Context
from mixnet.ndarray.create import array
from mixnet.ndarray.invoke import invoke
from mixnet.ndarray.ndarray import NDArray
from mixnet.ops.op import Op
from mixnet.ops.registry import find
from mixnet.runtime.record.record import record

_AHEAD = 4  # the latest steps, for whose overflow flags nobody waits


def _scaled(loss: Any, scale: Any) -> Any:
    """A loss times the scale."""
    return (loss * scale[0]).astype(loss.dtype)


def _unscaled(grad: Any, scale: Any) -> Any:
    """A gradient without the scale."""
    return (grad * (1 / scale[0])).astype(grad.dtype)


def _if_finite(new: Any, old: Any, finite: Any) -> Any:
    """The new value of a step that did not overflow, else the old one."""
    return jnp.where(finite[0] > 0, new, old)


def _adjusted(scale: Any, finite: Any, *, length: float, greatest: float) -> Any:
    """The scale in use, the next one, and the steps since it changed, after a step."""
    _, now, steps = scale
    steps = jnp.where(finite[0] > 0, steps + 1, 0)
    grows = steps >= length
    following = jnp.where(grows, jnp.minimum(now * 2, greatest), now)
    following = jnp.where(finite[0] > 0, following, jnp.maximum(now / 2, 1))
    return jnp.stack([now, following, jnp.where(grows, 0, steps)])


_SCALED = Op("_amp_scaled", _scaled)
_UNSCALED = Op("_amp_unscaled", _unscaled, differentiable=False)
_IF_FINITE = Op("_amp_kept", _if_finite, differentiable=False)
_ADJUSTED = Op("_amp_adjusted", _adjusted, differentiable=False)


class LossScaler:
    """The factor of the loss: halved after a step with an overflow, doubled after 2000 without.

    A change takes effect one step later, as in MXNet.
    """

    def __init__(self) -> None:
        self._max_loss_scale = 2.0**24
        self._scale_seq_len = 2000
        self._state: NDArray | None = None  # scale, next scale, steps without overflow
        self._used: NDArray | None = None  # the state that the gradients are scaled by; None: not
        self._unsure: deque[tuple[NDArray, list[tuple[dict[Any, int], Any]]]] = deque()

    def _on(self, context: Context) -> NDArray:
        if self._state is None:
            self._state = array(np.array([2.0**16, 2.0**16, 0], np.float32), context)
        return self._state.as_in_context(context)

    def _number(self, place: int) -> float:
        return float(self._on(Context("cpu")).asnumpy()[place])

    @property
    def loss_scale(self) -> float:
        """The factor; reading it waits for the last step."""
        return self._number(0)

    _loss_scale = loss_scale

    @property
    def _next_loss_scale(self) -> float:
        return self._number(1)

    @property
    def _unskipped(self) -> int:
        return int(self._number(2))

    # ---- what amp calls -------------------------------------------------------------------------

    def scaled(self, loss: NDArray) -> NDArray:
        """A loss times the factor; its gradients are scaled from now on."""
        scale = self._on(loss.context)
        self._used = scale
        return type(loss)._wrap(record(_SCALED, (), (), (loss._read(), scale._read()))[0])

    def unscaled(self, gradients: Sequence[NDArray]) -> list[NDArray]:
        """Gradients without the factor, as new arrays."""
        if self._used is None:
            return list(gradients)
        return [_apply(_UNSCALED, each, self._used) for each in gradients]

    def unscale(self, gradients: Sequence[NDArray]) -> None:
        """Take the factor out of gradients in place."""
        with RecordingScope(False, None):
            for old, new in zip(gradients, self.unscaled(gradients), strict=True):
                if new is not old:
                    new.copyto(old)
        self._used = None

    def has_overflow(self, params: Any) -> bool:
        """Whether a gradient of parameters is infinite or not a number; adjusts the factor.

        This waits for the gradients; a Trainer's step does not.
        """
        with RecordingScope(False, None):
            finite = self._finite([p.list_grad() for p in params if p.grad_req != "null"])
            self._adjust(finite)
        return not finite.asnumpy()[0]

    def observe(self, gradients: Sequence[Sequence[NDArray]]) -> None:
        """Adjust the factor by gradients that a store has used."""
        self._adjust(self._finite(gradients))

    # ---- a step of a Trainer --------------------------------------------------------------------

    def update(self, updaters: Sequence[Any], updates: Sequence[Sequence[Any]]) -> None:
        """A step that changes nothing if a gradient overflowed.

        Args:
            updaters: one for each context.
            updates: for each a list of index, gradient and weight.
        """
        pairs = [
            (u, list(zip(*each, strict=True)))
            for u, each in zip(updaters, updates, strict=True)
            if each
        ]
        if not pairs:
            return
        finite = self._finite([gradients for _, (_, gradients, _) in pairs])
        optimizer = pairs[0][0].optimizer
        self._correct_counts(optimizer)
        rescale = optimizer.rescale_grad
        counted = []
        for updater, (indices, gradients, weights) in pairs:
            if any(np.dtype(each.dtype).itemsize == 2 for each in gradients):
                # The scale keeps these from vanishing: it is taken out within the update.
                scale = 1.0 if self._used is None else float(self._used.asnumpy()[0])
                updater.optimizer.rescale_grad = rescale / scale
            else:
                gradients = tuple(self.unscaled(gradients))
            self._update_one(updater, indices, gradients, weights, finite)
            updater.optimizer.rescale_grad = rescale
            counted.append((updater.optimizer._index_update_count, indices))
        self._unsure.append((finite, counted))
        self._adjust(finite)

    @staticmethod
    def _update_one(
        updater: Any, indices: Any, gradients: Any, weights: Any, finite: NDArray
    ) -> None:
        optimizer, states = updater.optimizer, updater.states
        for index, weight in zip(indices, weights, strict=True):
            if index not in states:
                states[index] = optimizer.create_state_multi_precision(index, weight)
                updater.states_synced[index] = True
        touched = [*weights, *(each for i in indices for each in _arrays(states[i]))]
        before = [each._read() for each in touched]
        updater(indices, gradients, weights)
        for each, old in zip(touched, before, strict=True):
            new = each._read()
            if new is old:
                continue
            flag = finite.as_in_context(new.spec.context)
            each._write(record(_IF_FINITE, (), (), (new, old, flag._read()))[0])

    def _finite(self, groups: Sequence[Sequence[NDArray]]) -> NDArray:
        """1 if all gradients are finite, else 0; they may be on several contexts."""
        by_context: dict[Context, list[NDArray]] = {}
        for each in (each for group in groups for each in group):
            stored = each._data if each._is_sparse else each  # type: ignore[attr-defined]
            if stored.size:
                by_context.setdefault(each.context, []).append(NDArray._wrap(stored._read()))
        op = find("multi_all_finite")
        flags = [invoke(op, each, {}) for each in by_context.values()]
        if not flags:
            return array(np.ones(1, np.float32))
        first = flags[0].context
        finite: NDArray = flags[0]
        for each in flags[1:]:
            finite = finite * each.as_in_context(first)
        return finite

    def _adjust(self, finite: NDArray) -> None:
        numbers = {"length": float(self._scale_seq_len), "greatest": self._max_loss_scale}
        arrays = (self._on(finite.context), finite)
        self._state = invoke(_ADJUSTED, arrays, numbers)

    def _correct_counts(self, optimizer: Any) -> None:
        """Take back the counts of earlier steps that turned out to have overflowed.

        This waits for a step only once more than ``_AHEAD`` others have followed it.
        """
        while self._unsure:
            finite, counted = self._unsure[0]
            known = finite._read().array
            if len(self._unsure) <= _AHEAD and (known is None or not known.is_ready()):
                return
            self._unsure.popleft()
            if finite.asnumpy()[0]:
                continue
            for counts, indices in counted:
                for index in indices:
                    counts[index] -= 1
            every = optimizer._all_index_update_counts.values()
            most = max((n for counts in every for n in counts.values()), default=0)
            optimizer.num_update = max(optimizer.begin_num_update, most)


def _apply(op: Op, gradient: Any, scale: NDArray) -> Any:
    scale = scale.as_in_context(gradient.context)
    if gradient._is_sparse:
        data = _apply(op, gradient._data, scale)
        return gradient._make(data, gradient._aux, gradient.shape)
    return type(gradient)._wrap(record(op, (), (), (gradient._read(), scale._read()))[0])


def _arrays(state: object) -> Iterator[NDArray]:
    """The arrays of an optimizer's state."""
    if isinstance(state, NDArray):
        yield state
    elif isinstance(state, (tuple, list)):
        for each in state:
            yield from _arrays(each)
