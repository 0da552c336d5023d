"""Callbacks of training: how they are called, and what those after a batch get."""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING

from mixnet.base import _as_list

if TYPE_CHECKING:
    from mixnet.callback import Callbacks

BatchEndParams = namedtuple("BatchEndParams", ["epoch", "nbatch", "eval_metric", "locals"])
BatchEndParams.__doc__ = (
    """Number of the epoch, number of the batch, the metric, and the local variables of ``fit``."""
)
BatchEndParam = BatchEndParams


def call_each(callbacks: Callbacks | None, *args: object) -> None:
    """Call a function, or each function of a list; None does nothing."""
    for callback in () if callbacks is None else _as_list(callbacks):
        callback(*args)
