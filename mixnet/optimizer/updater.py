"""Updater: an optimizer with the states of the parameters that it has updated."""

from __future__ import annotations

import pickle
from typing import Any

from mixnet.ndarray.ndarray import NDArray
from mixnet.optimizer.optimizer import Optimizer


class Updater:
    """``updater(index, grad, weight)`` updates a weight and keeps its state."""

    def __init__(self, optimizer: Optimizer):
        self.optimizer = optimizer
        self.states: dict[Any, Any] = {}
        self.states_synced: dict[Any, bool] = {}

    def __call__(self, index: Any, grad: NDArray, weight: NDArray) -> None:
        """Update ``weight``."""
        if index not in self.states:
            self.states[index] = self.optimizer.create_state_multi_precision(index, weight)
        self.optimizer.update_multi_precision(index, weight, grad, self.states[index])

    def get_states(self, dump_optimizer: bool = False) -> bytes:
        """The states as bytes, with ``dump_optimizer`` the optimizer too."""
        return pickle.dumps((self.states, self.optimizer) if dump_optimizer else self.states)

    def set_states(self, states: bytes) -> None:
        """Take states that ``get_states`` gave."""
        found = pickle.loads(states)
        if isinstance(found, tuple):
            self.states, self.optimizer = found
        else:
            self.states = found


def get_updater(optimizer: Optimizer) -> Updater:
    """An updater for an optimizer."""
    return Updater(optimizer)
