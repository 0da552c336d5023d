"""``mx.monitor``: statistics of every output, weight and state during training."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable
from typing import Any

from mixnet import ndarray
from mixnet.base import CheckError, py_str
from mixnet.ndarray.ndarray import NDArray


class Monitor:
    """Collects a statistic of every array of the executors that it is installed on.

    Between ``tic()`` and ``toc()`` it sees the outputs of all operators, and at ``toc()`` the
    arguments and states.

    Args:
        interval: batches from one collection to the next.
        stat_func: gives an array, or a list of arrays, for an array; by default its norm over the
            root of its size.
        pattern: regular expression; names that it matches from their beginning are looked at.
        sort: give the results in the order of the names.
        monitor_all: look at the inputs of operators too.
    """

    def __init__(
        self,
        interval: int,
        stat_func: Callable[[NDArray], Any] | None = None,
        pattern: str = ".*",
        sort: bool = False,
        monitor_all: bool = False,
    ):
        self.stat_func = stat_func or _root_mean_square
        self.interval = interval
        self.activated = False
        self.queue: list[tuple[int, str, Any]] = []
        self.step = 0
        self.exes: list[Any] = []
        self.re_prog = re.compile(pattern)
        self.sort = sort
        self.monitor_all = monitor_all

    def stat_helper(self, name: str | bytes, array: NDArray) -> None:
        """The function that executors call with every output; collects between ``tic`` and ``toc``.

        Args:
            name: of the output.
            array: its value.
        """
        if self.activated and self.re_prog.match(py_str(name)):
            self.queue.append((self.step, py_str(name), self.stat_func(array)))

    def install(self, exe: Any) -> None:
        """Monitor an executor, too.

        Args:
            exe: an executor.
        """
        exe.set_monitor_callback(self.stat_helper, self.monitor_all)
        self.exes.append(exe)

    def tic(self) -> None:
        """Begin a batch: every ``interval``-th is monitored."""
        if self.step % self.interval == 0:
            self.queue = []
            self.activated = True
        self.step += 1

    def toc(self) -> list[tuple[int, str, str]]:
        """End a batch.

        Returns:
            Number of the batch, name, and the statistic as text; empty if this batch was not
            looked at.

        Raises:
            AssertionError: ``stat_func`` gave something else than arrays.
        """
        if not self.activated:
            return []
        for exe in self.exes:
            for name, array in (*exe.arg_dict.items(), *exe.aux_dict.items()):
                self.stat_helper(name, array)
        self.activated = False
        if self.sort:
            self.queue.sort(key=lambda each: each[1])
        rows = [(step, name, _text(name, values)) for step, name, values in self.queue]
        self.queue = []
        return rows

    def toc_print(self) -> None:
        """End a batch and log what was collected."""
        for step, name, text in self.toc():
            logging.info("Batch: %7d %-30s %s", step, name, text)


def _root_mean_square(array: NDArray) -> NDArray:
    root: NDArray = ndarray.norm(array) / math.sqrt(array.size)
    return root


def _text(name: str, values: object) -> str:
    values = [values] if isinstance(values, NDArray) else values
    text = ""
    if not isinstance(values, list):
        raise CheckError(
            f"stat_func returned {values!r} for {name}; it must return an NDArray or a list of them."
        )
    for value in values:
        if not isinstance(value, NDArray):
            raise CheckError(
                f"stat_func returned {value!r} for {name}; it must return an NDArray or a list of them."
            )
        # str(), for NumPy's shortest digits: an f-string would show the number's float64
        text += str(value.asscalar() if value.shape == (1,) else value.asnumpy()) + "\t"
    return text
