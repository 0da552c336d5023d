"""The base of metrics: a sum and a count since the last reset, and in total."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.base import AttributeValueError, NotDefinedError
from mixnet.metric.totals import Totals, as_array
from mixnet.ndarray.ndarray import NDArray
from mixnet.process.docstrings import inherit_arguments
from mixnet.runtime.record.record import flush


class _Together(threading.local):
    depth = 0
    flush_due = False


_together = _Together()


@contextmanager
def together() -> Iterator[None]:
    """Scope in which the updates of several metrics become one program, not one each."""
    _together.depth += 1
    try:
        yield
    finally:
        _together.depth -= 1
        if _together.flush_due and not _together.depth:
            _together.flush_due = False
            flush("metric update")


Batch = NDArray | np.ndarray | Sequence[NDArray | np.ndarray]
"""Labels or predictions: an array, or one for each output of the network."""


class _Double(np.float64):
    """A float64 that stays one whatever is added to it, and prints as a number."""

    def __repr__(self) -> str:
        return float.__repr__(self)


def _double(value: object) -> Any:
    return _Double(value) if isinstance(value, float) else value


def _settled(attribute: str, text: str, shown: Callable[[Any], Any] = lambda value: value) -> Any:
    """A property that waits for what the devices have added to an attribute; ``shown`` converts it."""

    def get(self: EvalMetric) -> Any:
        self._mx_settle()
        return shown(getattr(self, attribute))

    def put(self: EvalMetric, value: object) -> None:
        self._mx_settle()
        setattr(self, attribute, value)

    return property(get, put, doc=text)


class EvalMetric:
    """Base of metrics: ``update`` with batches, then ``get``.

    The metrics of the library add up on the device: an update waits for nothing, and reading
    ``get()``, ``sum_metric`` or ``num_inst`` waits for what was added. A metric of your own
    changes ``sum_metric`` and ``num_inst`` in ``update``.

    Args:
        name: shown beside the value.
        output_names: which outputs ``update_dict`` takes; all by default.
        label_names: which labels ``update_dict`` takes; all by default.
        kwargs: further entries of ``get_config()``.
    """

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        inherit_arguments(cls)

    def __init__(
        self,
        name: str,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        **kwargs: object,
    ):
        self.name = str(name)
        self.output_names = output_names
        self.label_names = label_names
        self._has_global_stats = kwargs.pop("has_global_stats", False)
        self._kwargs = kwargs
        self.reset()

    def __str__(self) -> str:
        return f"EvalMetric: {dict(self.get_name_value())}"

    # ---- what was added ------------------------------------------------------------------------

    _mx_sum: Any = 0.0
    _mx_num: Any = 0
    _mx_global_sum: Any = 0.0
    _mx_global_num: Any = 0
    _mx_zero: Any = 0
    """A count of nothing."""
    _mx_pending: Totals | None = None
    """On the devices: since the last ``reset_local``."""
    _mx_earlier: Totals | None = None
    """On the devices: before that, for all time alone."""

    def _mx_add(self, numbers: NDArray | np.ndarray, predictions: Sequence[Any]) -> None:
        """Add a sum and a count, float64 on a device or the host."""
        pending = self._mx_pending
        if pending is None:  # a class of a program that does not call ``reset``
            pending = self._mx_pending = Totals()
        pending.add(numbers)
        if isinstance(numbers, np.ndarray):
            return
        for each in predictions:
            if isinstance(each, NDArray) and each._value.node is not None:
                return  # in training: the step runs what is recorded
        if _together.depth:
            _together.flush_due = True
        else:
            flush("metric update")

    def _mx_settle(self) -> None:
        """Wait for what the devices have added."""
        for totals, local in ((self._mx_pending, True), (self._mx_earlier, False)):
            if totals is not None:
                totals.take(partial(self._mx_absorb, local=local))

    def _mx_absorb(self, sums: np.ndarray, local: bool) -> None:
        total, count = float(sums[0]), type(self._mx_zero)(sums[1])
        if local:
            self._mx_sum += total
            self._mx_num += count
        self._mx_global_sum += total
        self._mx_global_num += count

    sum_metric = _settled(
        "_mx_sum", "Sum over what was added since the last ``reset`` or ``reset_local``.", _double
    )
    num_inst = _settled(
        "_mx_num",
        "Number of instances that were added since the last ``reset`` or ``reset_local``.",
    )
    global_sum_metric = _settled(
        "_mx_global_sum", "Sum over what was added since the last ``reset``.", _double
    )
    global_num_inst = _settled(
        "_mx_global_num", "Number of instances that were added since the last ``reset``."
    )

    # ---- what a user calls ---------------------------------------------------------------------

    def get_config(self) -> dict[str, Any]:
        """The configuration from which ``mx.metric.create`` creates the same metric."""
        return {
            **self._kwargs,
            "metric": type(self).__name__,
            "name": self.name,
            "output_names": self.output_names,
            "label_names": self.label_names,
        }

    def update_dict(self, label: Mapping[str, Any], pred: Mapping[str, Any]) -> None:
        """Add a batch whose labels and outputs have names.

        Args:
            label: arrays by name; those in ``label_names`` count, all by default.
            pred: arrays by name; those in ``output_names`` count, all by default.
        """
        preds = _chosen(pred, self.output_names)
        self.update(_chosen(label, self.label_names), preds)

    def update(self, labels: Batch, preds: Batch) -> None:
        """Add a batch: labels and predictions, arrays or lists of arrays.

        Args:
            labels: an array, or a list of arrays.
            preds: as many predictions.
        """
        raise NotDefinedError(f"{type(self).__name__} does not define update(labels, preds).")

    def reset(self) -> None:
        """Start again."""
        self._mx_pending, self._mx_earlier = Totals(), None
        self._mx_num, self._mx_sum = self._mx_zero, 0.0
        self._mx_global_num, self._mx_global_sum = self._mx_zero, 0.0

    def reset_local(self) -> None:
        """Reset what ``get`` returns; ``get_global`` keeps counting."""
        if self._mx_pending is not None:
            self._mx_earlier = self._mx_earlier or Totals()
            self._mx_earlier.merge(self._mx_pending)
        self._mx_num, self._mx_sum = self._mx_zero, 0.0

    def get(self) -> tuple[Any, Any]:
        """Name and mean since the last ``reset`` or ``reset_local``; NaN before the first batch."""
        if self.num_inst == 0:
            return self.name, float("nan")
        return self.name, plain(self.sum_metric / self.num_inst)

    def get_global(self) -> tuple[Any, Any]:
        """Name and mean since the last ``reset``; as ``get`` for metrics that do not track it."""
        if not self._has_global_stats:
            return self.get()
        if self.global_num_inst == 0:
            return self.name, float("nan")
        return self.name, plain(self.global_sum_metric / self.global_num_inst)

    def get_name_value(self) -> list[tuple[str, Any]]:
        """Pairs of name and value."""
        return _pairs(*self.get())

    def get_global_name_value(self) -> list[tuple[str, Any]]:
        """Pairs of name and value over all time."""
        if self._has_global_stats:
            return _pairs(*self.get_global())
        return self.get_name_value()


def _pairs(names: Any, values: Any) -> list[tuple[str, Any]]:
    names = names if isinstance(names, list) else [names]
    values = values if isinstance(values, list) else [values]
    return list(zip(names, values, strict=False))


def _chosen(arrays: Mapping[str, Any], names: Sequence[str] | None) -> list[Any]:
    return list(arrays.values()) if names is None else [arrays[name] for name in names]


def plain(value: object) -> Any:
    """A number as Python's, which prints as a number."""
    return value.item() if isinstance(value, np.generic) else value


def check_label_shapes(
    labels: Any, preds: Any, wrap: bool = False, shape: bool = False
) -> tuple[Any, Any]:
    """Labels and predictions; there must be as many of one as of the other.

    Args:
        labels: an array or a list of arrays.
        preds: the same.
        wrap: give lists: an array becomes a list of one.
        shape: compare the shapes of two arrays rather than lengths.

    Raises:
        ValueError: they differ.
    """
    sizes = (labels.shape, preds.shape) if shape else (len(labels), len(preds))
    if sizes[0] != sizes[1]:
        raise AttributeValueError(
            f"Shape of labels {sizes[0]} does not match shape of predictions {sizes[1]}"
        )
    if wrap:
        labels = [labels] if isinstance(labels, (NDArray, np.ndarray)) else labels
        preds = [preds] if isinstance(preds, (NDArray, np.ndarray)) else preds
    return labels, preds


def pairs(labels: Batch, preds: Batch) -> list[tuple[NDArray, NDArray]]:
    """Labels and predictions array by array.

    Raises:
        ValueError: there are more of one than of the other.
    """
    labels, preds = check_label_shapes(labels, preds, wrap=True)
    if len(labels) != len(preds):
        raise AttributeValueError(
            f"{len(labels)} array(s) of labels do not match {len(preds)} of predictions; give "
            f"lists "
            f"of arrays, of one length."
        )
    return [(as_array(a), as_array(b)) for a, b in zip(labels, preds, strict=True)]


if TYPE_CHECKING:
    # What ``metric.create`` makes a metric of.
    MetricLike = EvalMetric | str | Callable[..., Any] | Sequence[Any]
