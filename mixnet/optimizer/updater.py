"""Updaters: an optimizer with the states of its parameters."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from mixnet.autograd.scope import unrecorded
from mixnet.base import AttributeTypeError, FileFormatError
from mixnet.context import Context
from mixnet.files.whole_file import read_whole
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.steps import Step, run_steps
from mixnet.optimizer.base import Optimizer
from mixnet.optimizer.state_check import Weights, checked
from mixnet.optimizer.state_file import dumps, loads
from mixnet.runtime.record.files import read as read_file
from mixnet.runtime.value.undo import Owner, all_or_nothing

if TYPE_CHECKING:
    from mixnet.optimizer.base import Index


class Updater:
    """Calls an optimizer with the state of each parameter, made at its first update.

    Args:
        optimizer: the optimizer.
    """

    def __init__(self, optimizer: Optimizer):
        if not isinstance(optimizer, Optimizer):
            raise AttributeTypeError(
                f"An updater takes an optimizer, not {optimizer!r:.60}; make one with "
                f"mx.optimizer.create(name)."
            )
        self.optimizer = optimizer
        self.states: dict[Any, Any] = {}
        self.states_synced: dict[Any, bool] = {}
        self.aggregate_updates = optimizer.aggregate_num > 0

    def __call__(self, index: Index, grad: Any, weight: Any) -> None:
        """Update a parameter, or several, as one program.

        Args:
            index: number or name of the parameter, or a list of these.
            grad: its gradient, or a list.
            weight: the parameter, or a list; written.
        """
        if isinstance(index, (list, tuple)):
            indices, grads, weights = list(index), list(grad), list(weight)
        else:
            indices, grads, weights = [index], [grad], [weight]
        update = partial(self._update, indices, grads, weights)
        unrecorded(partial(update_all, [self], update))

    def _update(self, indices: list[Any], grads: list[Any], weights: list[Any]) -> None:
        optimizer = self.optimizer
        if weights:
            optimizer._set_current_context(weights[0].context.device_id)
        states, synced = self.states, self.states_synced
        own_states = []
        for i, w in zip(indices, weights, strict=True):
            if i not in states:
                states[i] = optimizer.create_state_multi_precision(i, w)
                synced[i] = True
            elif not synced.get(i):
                states[i] = self.sync_state_context(states[i], w.context)
                synced[i] = True
            own_states.append(states[i])
        by_steps = optimizer._mx_updates_by_steps()
        calls = self._calls(indices, weights, grads, own_states, by_steps)
        if by_steps:
            steps: list[Step] = []
            for call in calls:
                steps += optimizer._mx_steps_or_update(*call)
            run_steps(steps)
            return
        for call in calls:
            optimizer.update_multi_precision(*call)

    def _calls(
        self,
        indices: list[Any],
        weights: list[Any],
        grads: list[Any],
        states: list[Any],
        by_steps: bool,
    ) -> list[Any]:
        """Groups of parameters for the calls of the optimizer: one each, or several where it accepts that.

        Args:
            indices, weights, grads, states: those of all parameters.
            by_steps: whether it only returns steps.
        """
        size = self.optimizer.aggregate_num if self.aggregate_updates else 1
        if by_steps and len(weights) > size and self.optimizer._mx_steps_any_number():
            size = len(weights)
        elif not self.aggregate_updates:
            return list(zip(indices, weights, grads, states, strict=True))
        by_dtype: dict[Any, list[int]] = defaultdict(list)
        for place, w in enumerate(weights):
            by_dtype[w.dtype].append(place)
        if len(weights) <= size and len(by_dtype) == 1:
            return [(tuple(indices), tuple(weights), tuple(grads), states)]
        chunks = [
            places[start : start + size]
            for places in by_dtype.values()
            for start in range(0, len(places), size)
        ]
        # Tuples, as in MXNet: an optimizer of a program may have a dict by its first argument.
        return [
            (
                *[tuple([each[p] for p in chunk]) for each in (indices, weights, grads)],
                [states[p] for p in chunk],
            )
            for chunk in chunks
        ]

    def sync_state_context(self, state: object, context: Context) -> Any:
        """A state, an array or a tuple or list of these, on a device.

        Args:
            state: the state.
            context: the device.
        """
        if isinstance(state, NDArray):
            return state.as_in_context(context)
        if isinstance(state, (tuple, list)):
            return type(state)(self.sync_state_context(each, context) for each in state)
        return state

    def set_states(self, states: bytes, weights: Weights | None = None) -> None:
        """Set the states that ``get_states`` returned, here or in MXNet, perhaps with the optimizer.

        Args:
            states: the bytes.
            weights: parameters by key, None for those whose shapes are not known yet: states of
                other shapes, dtypes or kinds than the optimizer makes for them are refused.

        Raises:
            FileFormatError: the bytes are not optimizer states, hold what these do not hold, or do
                not go with the optimizer and the parameters. The updater is unchanged then.
        """
        self._take(self._read(states, weights or {}))

    def _read(self, content: bytes, weights: Weights) -> tuple[Any, Optimizer]:
        """States and their optimizer; the updater does not have them yet."""
        return checked(loads(content), self.optimizer, weights)

    def _take(self, read: tuple[Any, Optimizer]) -> None:
        """Go on with states that were read."""
        states, optimizer = read
        # All or, where Ctrl-C comes first, nothing.
        vars(self).update(
            states=states,
            states_synced=dict.fromkeys(states, False),
            optimizer=optimizer,
            aggregate_updates=optimizer.aggregate_num > 0,
        )

    def get_states(self, dump_optimizer: bool = False) -> bytes:
        """The states as bytes that MXNet reads too.

        Args:
            dump_optimizer: include the optimizer with its counts and settings.
        """
        return dumps((self.states, self.optimizer) if dump_optimizer else self.states)


def update_all(
    updaters: Iterable[object], update: Callable[[], None], owners: Iterable[Owner] = ()
) -> None:
    """Call a function that calls updaters: all arrays and counts change or, where it fails, none.

    Args:
        updaters: those that it may call; a user's own may be any function.
        update: the function.
        owners: what it changes besides arrays and optimizers.
    """
    changing: list[Owner] = []
    for each in updaters:
        if isinstance(each, Updater):
            changing.append(each.optimizer)
    changing += owners
    all_or_nothing(update, changing)


def call_updater(
    updater: Callable[..., None], indices: list[Any], grads: list[Any], weights: list[Any]
) -> None:
    """Call an updater, within ``update_all`` and without a tape.

    Args:
        updater: an updater, or a user's own function.
        indices: numbers or names of parameters.
        grads: their gradients.
        weights: the parameters.
    """
    if type(updater) is Updater and Updater.__call__ is _CALL:
        updater._update(indices, grads, weights)  # without another scope
    else:
        updater(indices, grads, weights)


_CALL = Updater.__call__


def get_updater(optimizer: Optimizer) -> Updater:
    """An updater of an optimizer."""
    return Updater(optimizer)


@contextmanager
def states_of(fname: str | os.PathLike[str]) -> Iterator[bytes]:
    """The content of a file of states; errors about it name the file.

    Raises:
        MissingFileError: there is no such file.
    """
    content = read_file(fname, lambda: read_whole(fname))
    try:
        yield content
    except FileFormatError as error:
        raise FileFormatError(f"{os.fspath(fname)!r}: {error}") from error
