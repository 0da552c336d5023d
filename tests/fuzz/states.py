"""Files of optimizer states, for mutation: pickles of every kind that MXNet and mixnet write."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np

import mixnet as mx
from mixnet.optimizer.state_file import _ARRAYS, _path, dumps
from mixnet.optimizer.updater import states_of

FORMAT = "states"

_SHAPES = {0: (2, 3), 1: (3,), "w": (2, 3)}


class _Old(pickle._Pickler):  # type: ignore[name-defined,misc]
    """Writes MXNet's names by the instructions of any protocol."""

    def save_global(self, item: Any, name: str | None = None) -> None:
        path = _path(item) if isinstance(item, type) else None
        if path is None:
            super().save_global(item, name)
        else:
            self.write(pickle.GLOBAL + "{}\n{}\n".format(*path).encode())
            self.memoize(item)

    def reducer_override(self, item: Any) -> Any:
        if type(item) in _ARRAYS:
            return type(item), (None,), {"handle": bytearray(item._to_bytes())}
        return NotImplemented


def _old(states: Any, protocol: int) -> bytes:
    file = io.BytesIO()
    _Old(file, protocol).dump(states)
    return file.getvalue()


def _updated(name: str, **kwargs: Any) -> mx.optimizer.Updater:
    """An updater after one step of two parameters."""
    updater = mx.optimizer.get_updater(mx.optimizer.create(name, **kwargs))
    for key in (0, 1):
        weight = mx.nd.ones(_SHAPES[key])
        updater(key, weight * 0.5, weight)
    return updater


def _weights() -> dict[Any, Any]:
    return {key: mx.nd.ones(shape) for key, shape in _SHAPES.items()}


def corpus(folder: Path) -> list[Path]:
    """Write small valid files; returns their paths."""
    scheduler = mx.lr_scheduler.MultiFactorScheduler([3, 5], 0.1)
    momentum = _updated("sgd", momentum=0.9, lr_scheduler=scheduler)
    adam = _updated("adam", param_idx2name={0: "a_weight", 1: "b_bias"})
    rows = mx.nd.ones((2, 3)).tostype("row_sparse")
    columns = mx.nd.ones((2, 3)).tostype("csr")
    host = {
        "array": np.arange(6.0).reshape(2, 3),
        "turned": np.asfortranarray(np.ones((2, 3), "int8")),
        "number": np.float32(0.5),
        "others": [True, -3, 1 << 40, 2.5, None, "\u00e9", b"\xff", {1, 2}, frozenset("a"), 1j],
    }
    contents = {
        "adam": adam.get_states(True),
        "momentum": momentum.get_states(True),
        "states": momentum.get_states(),
        "sparse": dumps({0: rows, "w": columns}),
        "host": dumps(({}, _with(mx.optimizer.SGD(), host))),
        **{f"protocol{i}": _old((adam.states, adam.optimizer), i) for i in (0, 1, 2, 3, 5)},
        **{f"host{i}": _old(({0: rows}, _with(mx.optimizer.SGD(), host)), i) for i in (0, 2, 5)},
    }
    paths = []
    for name, content in contents.items():
        paths.append(folder / f"{name}.states")
        paths[-1].write_bytes(content)
    return paths


def _with(optimizer: mx.optimizer.Optimizer, more: dict[str, Any]) -> mx.optimizer.Optimizer:
    vars(optimizer).update(more)
    return optimizer


def load(path: Path) -> None:
    """Load a file into a new updater, checked against parameters, and read all numbers."""
    updater = mx.optimizer.get_updater(mx.optimizer.SGD(momentum=0.9))
    with states_of(path) as content:
        updater.set_states(content, _weights())
    left = list(updater.states.values())
    while left:
        state = left.pop()
        if isinstance(state, mx.nd.NDArray):
            state.asnumpy().sum()
        elif isinstance(state, (tuple, list)):
            left += state
