"""Scopes that control whether autograd records, and whether operators train or predict."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from mixnet.process.tasks import current_task, running_loop, write
from mixnet.runtime.devices.meeting import leave_meetings
from mixnet.runtime.record.tasks import Scope
from mixnet.runtime.value.state import state

Result = TypeVar("Result")
Before = list[tuple[bool, bool] | Scope]
_NOTHING: Before = []


class _Exit:
    """The ``__exit__`` of a scope, which takes effect even if Ctrl-C arrives just as Python calls it.

    Python reads ``__exit__`` when a ``with`` block begins, and releases it when the block ends, in whatever
    way.
    """

    def __get__(self, scope: RecordingScope | None, cls: type) -> Callable[..., None]:
        if scope is None:
            return lambda scope, *_: _restore(scope._before)
        restore = functools.partial(_restore, scope._before)
        restore.left = _Left(scope._before)  # type: ignore[attr-defined]
        return restore


class _Left:
    """Restores the previous settings when it is released, unless that has been done."""

    _before: Before = _NOTHING  # for an object whose creation was interrupted
    _depth = 0

    def __init__(self, before: Before):
        self._depth, self._before = len(before), before

    def __del__(self) -> None:
        while len(self._before) > self._depth:
            _restore(self._before)


def _restore(
    before: Before, kind: object = None, error: BaseException | None = None, *_: object
) -> None:
    # Removed from the list last: after an interrupt in between, _Left restores it once more.
    last = before[-1]
    if type(last) is tuple:
        state.recording, state.training = last
    else:
        last.leave()  # type: ignore[union-attr]
    before.pop()
    if error is not None and state.meetings:
        leave_meetings(error)


class RecordingScope:
    """Sets recording and training for a ``with`` block or a decorated function; None leaves it unchanged.

    In an asyncio task, it applies only to that task, even while the block awaits and other tasks run.
    """

    def __init__(self, recording: bool | None, training: bool | None):
        self._enter = (recording, training)
        self._before: Before = []

    def __enter__(self) -> None:
        recording, training = self._enter
        if running_loop() is not None and current_task() is not None:
            scope = Scope()
            self._before.append(scope)
            scope.enter(recording, training)
            return
        self._before.append((state.recording, state.training))
        if recording is not None:
            state.recording = recording
        if training is not None:
            state.training = training

    __exit__ = _Exit()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def inside(*args: object, **kwargs: object) -> Any:
            with RecordingScope(*self._enter):
                return function(*args, **kwargs)

        return inside


def unrecorded(work: Callable[[], Result]) -> Result:
    """Call ``work`` without recording; adds a scope only if operations are being recorded."""
    if state.recording:
        with RecordingScope(False, None):
            return work()
    try:
        return work()
    except BaseException as error:
        if state.meetings:
            leave_meetings(error)
        raise


def record(train_mode: bool = True) -> RecordingScope:
    """Scope in which operations are recorded, so that ``backward`` can differentiate them.

    Args:
        train_mode: whether layers such as ``Dropout`` and ``BatchNorm`` behave as in training.
    """
    return RecordingScope(True, train_mode)


def pause(train_mode: bool = False) -> RecordingScope:
    """Scope in which operations are not recorded.

    Args:
        train_mode: whether layers such as ``Dropout`` and ``BatchNorm`` behave as in training.
    """
    return RecordingScope(False, train_mode)


def train_mode() -> RecordingScope:
    """Scope in which operators behave as in training: Dropout drops, BatchNorm uses the batch."""
    return RecordingScope(None, True)


def predict_mode() -> RecordingScope:
    """Scope in which operators behave as in prediction."""
    return RecordingScope(None, False)


def is_recording() -> bool:
    """Whether operations are being recorded."""
    return bool(state.recording)


def is_training() -> bool:
    """Whether operators behave as in training."""
    return bool(state.training)


def set_recording(is_recording: bool) -> bool:
    """Turn recording on or off; returns the previous setting.

    Args:
        is_recording: the new setting.
    """
    return bool(write(state, "recording", bool(is_recording)))


def set_training(train_mode: bool) -> bool:
    """Turn training behaviour on or off; returns the previous setting.

    Args:
        train_mode: the new setting.
    """
    return bool(write(state, "training", bool(train_mode)))
