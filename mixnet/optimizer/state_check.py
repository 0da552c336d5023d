"""Check that loaded states match an optimizer and its parameters before they are used."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet import lr_scheduler
from mixnet.autograd.scope import RecordingScope
from mixnet.base import FileFormatError
from mixnet.ndarray.ndarray import NDArray
from mixnet.optimizer.base import Optimizer

if TYPE_CHECKING:
    from mixnet.lr_scheduler import LRScheduler

Weights = Mapping[Any, NDArray | None]
"""Parameters by the keys of their states; None: not known yet."""

_NUMBERS = (bool, int, float, np.generic)
_COUNTS = {"num_update", "begin_num_update", "aggregate_num"}
_LATER = {"aggregate_num", "allow_np_array"}  # in files of MXNet 1.4 and before there are none
# What the dicts of every optimizer hold.
_VALUES: dict[str, Any] = {
    "lr_mult": _NUMBERS,
    "wd_mult": _NUMBERS,
    "idx2name": str,
    "_index_update_count": (int, np.integer),
    "_all_index_update_counts": dict,
}
# Schedulers as they can be made, to see what attributes they have.
_SCHEDULERS: dict[type, tuple[Any, ...]] = {
    lr_scheduler.LRScheduler: (),
    lr_scheduler.FactorScheduler: (1,),
    lr_scheduler.MultiFactorScheduler: ([1],),
    lr_scheduler.PolyScheduler: (1,),
    lr_scheduler.CosineScheduler: (1,),
}


def checked(result: Any, optimizer: Optimizer, weights: Weights) -> tuple[Any, Optimizer]:
    """States and the optimizer that they are for, from what a file of states held.

    Args:
        result: states by key, or the pair of these and an optimizer.
        optimizer: for states without an optimizer.
        weights: the parameters, as far as they are known.

    Raises:
        FileFormatError: these are not states, or not those of this optimizer for these parameters.
    """
    states = result
    if isinstance(result, tuple) and len(result) == 2:
        states, optimizer = result
        if not isinstance(optimizer, Optimizer):
            raise FileFormatError(
                f"The file has a {type(optimizer).__name__} in place of an optimizer."
            )
        _check_optimizer(optimizer)
    if not isinstance(states, dict):
        raise FileFormatError(
            f"These are not optimizer states but a {type(states).__name__}; use a file written by "
            f"save_states, save_optimizer_states or Updater.get_states."
        )
    for key in states:
        if isinstance(key, bool) or not isinstance(key, (int, str, np.integer)):
            raise FileFormatError(
                f"States must be keyed by the number or the name of a parameter, not {key!r}."
            )
    return _fitted(states, optimizer, weights), optimizer


# ---- optimizers ---------------------------------------------------------------------------------


def _ours(klass: type) -> Any:
    """The nearest class that can be made without arguments: of others nothing more is known."""
    return next(each for each in klass.__mro__ if each in _SCHEDULERS or _is_library(each))


def _is_library(item: object) -> bool:
    """Whether a class or method is one of the optimizers that come with mixnet."""
    return str(item.__module__).startswith("mixnet.optimizer.")


def _check_optimizer(optimizer: Optimizer) -> None:
    kind = _ours(type(optimizer))
    _compare(optimizer, kind())
    for name, values in _VALUES.items():
        for value in getattr(optimizer, name).values():
            if not isinstance(value, values):
                raise _bad(optimizer, name, value)
    for counts in optimizer._all_index_update_counts.values():
        for count in counts.values():
            if not isinstance(count, (int, np.integer)):
                raise _bad(optimizer, "_all_index_update_counts", count)
    scheduler = optimizer.lr_scheduler
    if scheduler is None:
        if optimizer.lr is None:
            raise _bad(optimizer, "lr", None)
        return
    if not isinstance(scheduler, lr_scheduler.LRScheduler):
        raise _bad(optimizer, "lr_scheduler", scheduler)
    kind = _ours(type(scheduler))
    if type(scheduler) is kind:  # others may have other attributes
        _compare(scheduler, kind(*_SCHEDULERS[kind]))
        _check_steps(scheduler)


def _compare(item: object, new: Any) -> None:
    """Raise unless an object has the attributes of a new one, and of their kinds."""
    for name, usual in vars(new).items():
        if name in _LATER:
            vars(item).setdefault(name, usual)
        if name not in vars(item):
            raise FileFormatError(
                f"The {type(item).__name__} in the states has no {name}: they are corrupted."
            )
        value = vars(item)[name]
        if not _is_alike(name, value, usual):
            raise _bad(item, name, value)


def _is_alike(name: str, value: object, usual: Any) -> bool:
    if name in _COUNTS:
        return isinstance(value, (int, np.integer))
    if name == "lr":  # None where a scheduler says it
        return value is None or isinstance(value, _NUMBERS) or _is_single(value)
    if isinstance(usual, _NUMBERS):
        return isinstance(value, _NUMBERS) or _is_single(value)
    if usual is None:
        return not isinstance(value, (str, bytes, dict, list, tuple))
    return isinstance(value, type(usual))


def _is_single(value: object) -> bool:
    return isinstance(value, NDArray) and math.prod(value.shape) == 1


def _check_steps(scheduler: LRScheduler | None) -> None:
    if not isinstance(scheduler, (lr_scheduler.FactorScheduler, lr_scheduler.MultiFactorScheduler)):
        return
    for step in scheduler.step if isinstance(scheduler.step, list) else [scheduler.step]:
        if not isinstance(step, (int, float)) or step < 1:
            raise _bad(scheduler, "step", step)


def _bad(item: object, name: str, value: object) -> FileFormatError:
    shown = repr(value)[:40] if isinstance(value, (*_NUMBERS, str, type(None))) else ""
    return FileFormatError(
        f"The {type(item).__name__} in the states has a {type(value).__name__} {shown} for {name}: "
        f"they are corrupted."
    )


# ---- states -------------------------------------------------------------------------------------


def _fitted(states: dict[Any, Any], optimizer: Optimizer, weights: Weights) -> dict[Any, Any]:
    """The states, each in the storage type that the optimizer makes it in."""
    if not _is_ours(optimizer):
        return states
    fitted: dict[Any, Any] = type(states)()
    for key, state in states.items():
        _check_plain(key, state)
        weight = weights.get(key)
        if weight is not None:
            usual = _usual(optimizer, key, weight)
            # MXNet does not look at a state that an optimizer does not use.
            description = f"of parameter {key!r} for {type(optimizer).__name__}"
            state = None if usual is None else _fit(state, usual, description)
        fitted[key] = state
    _warn_of_others(states, weights)
    return fitted


def _usual(optimizer: Optimizer, key: Any, weight: NDArray) -> Any:
    """The state that an optimizer makes for a parameter."""
    with RecordingScope(False, None), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of half precision it has warned before
        try:
            return optimizer.create_state_multi_precision(key, weight)
        except Exception as error:
            raise FileFormatError(
                f"The {type(optimizer).__name__} of the states is not for parameter {key!r}: {error}"
            ) from error


def _is_ours(optimizer: Optimizer) -> bool:
    """Whether it is known what states an optimizer makes."""
    return all(
        _is_library(getattr(type(optimizer), name))
        for name in ("create_state", "create_state_multi_precision")
    )


def _check_plain(key: Any, state: Any) -> None:
    parts = state.values() if isinstance(state, dict) else state
    if isinstance(state, (dict, list, tuple)):
        for each in parts:
            _check_plain(key, each)
    elif state is not None and not isinstance(state, (NDArray, *_NUMBERS)):
        raise FileFormatError(
            f"The state of parameter {key!r} holds a {type(state).__name__}; states are arrays and "
            f"numbers."
        )


def _fit(state: object, usual: Any, description: str) -> Any:
    """A state like ``usual``.

    Raises:
        FileFormatError: it has other parts, shapes or dtypes.
    """
    if usual is None and state is None:
        return None
    if isinstance(usual, NDArray) and isinstance(state, NDArray):
        if (state.shape, state.dtype) == (usual.shape, usual.dtype):
            return state if state.stype == usual.stype else _stored_like(state, usual)
    elif isinstance(usual, (tuple, list)) and isinstance(state, (tuple, list)):
        if len(usual) == len(state):
            return type(state)(
                _fit(part, each, description) for part, each in zip(state, usual, strict=True)
            )
    elif isinstance(usual, _NUMBERS) and isinstance(state, _NUMBERS):
        return state
    raise FileFormatError(
        f"The state {description} is {_described(usual)}, in the file it is {_described(state)}: these are "
        f"states of another network or another optimizer."
    )


def _stored_like(state: NDArray, usual: NDArray) -> Any:
    dense = state.tostype("default")
    return dense if usual.stype == "default" else dense.tostype(usual.stype)


def _described(state: object) -> str:
    if isinstance(state, NDArray):
        return f"an array of shape {state.shape} and dtype {np.dtype(state.dtype).name}"
    if isinstance(state, (tuple, list)):
        return f"a {type(state).__name__} of {len(state)}"
    return "None" if state is None else f"a {type(state).__name__}"


def _warn_of_others(states: dict[Any, Any], weights: Weights) -> None:
    if states and weights and not any(key in weights for key in states):
        warnings.warn(
            f"None of the {len(states)} states is used: the file has them for "
            f"{_listed(states)}, but the parameters here are {_listed(weights)}. If a KVStore "
            f"updates the parameters of a Module, they have names, otherwise numbers: load with "
            f"the same kvstore and number of contexts as when the states were saved.",
            stacklevel=2,
        )


def _listed(keys: Any) -> str:
    first = [repr(key) for key, _ in zip(keys, range(4), strict=False)]
    return ", ".join(first) + (", ..." if len(keys) > len(first) else "")
