"""Calibration: collect layer outputs on example data, and derive their ranges."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.base import AttributeTypeError, AttributeValueError
from mixnet.ndarray.create import array

if TYPE_CHECKING:
    import logging
    from types import ModuleType

    from mixnet.ndarray.ndarray import NDArray


Range = tuple[float, float]
BINS = 8001
"""Bins of a histogram of a layer's output."""
LEVELS = 255
"""Numbers of int8 that are used: one is left out for symmetry."""


class LayerOutputCollector:
    """Collects the outputs of layers; a base for your own collectors.

    Override :meth:`collect` and :meth:`ranges`. An object with ``collect(name, arr)`` and a
    dictionary ``min_max_dict`` of (smallest, largest) by name is accepted, too.

    Args:
        include_layer: names of the outputs to collect, by default all; ``quantize_net_v2`` and
            ``quantize_graph`` set it.
        logger: gets a line for each array.
    """

    def __init__(
        self,
        include_layer: Collection[str] | None = None,
        logger: logging.Logger | ModuleType | None = None,
    ):
        self.include_layer = include_layer
        self.logger = logger

    def wants(self, name: str) -> bool:
        """Whether the range of an output is to be collected.

        Args:
            name: name of the output.
        """
        return self.include_layer is None or name in self.include_layer

    def collect(self, name: str, arr: NDArray) -> None:
        """Record the output of a layer for one batch.

        Args:
            name: name of the output, such as ``conv0_output``.
            arr: an ``NDArray``.
        """
        raise NotImplementedError

    def ranges(self) -> dict[str, Range]:
        """Smallest and largest number that the integers of each output represent."""
        raise NotImplementedError


class _RangeCollector(LayerOutputCollector):
    """Collects from the numbers and the range of each output."""

    def collect(self, name: str, arr: NDArray) -> None:
        """Record the output of a layer for one batch."""
        if not self.wants(name):
            return
        values = arr.asnumpy()
        message = self._add(name, values, *_extent(name, values))
        if self.logger:
            self.logger.debug(f"Collecting layer {name} {message}")

    def _add(self, name: str, values: np.ndarray, least: float, most: float) -> str:
        """Add a batch; returns what the logger prints."""
        raise NotImplementedError


class LayerOutputMinMaxCollector(_RangeCollector):
    """The smallest and the largest number of each output.

    Args:
        quantized_dtype: ignored, as in MXNet.
        include_layer: see :class:`LayerOutputCollector`.
        logger: the same.
    """

    def __init__(
        self,
        quantized_dtype: str = "auto",
        include_layer: Collection[str] | None = None,
        logger: logging.Logger | ModuleType | None = None,
    ):
        super().__init__(include_layer, logger)
        self.quantized_dtype = quantized_dtype
        self.min_max_dict: dict[str, Range] = {}

    def _add(self, name: str, values: np.ndarray, least: float, most: float) -> str:
        if name in self.min_max_dict:
            before = self.min_max_dict[name]
            least, most = min(least, before[0]), max(most, before[1])
        self.min_max_dict[name] = (least, most)
        return f"min_range={least}, max_range={most}"

    def ranges(self) -> dict[str, Range]:
        """The smallest and the largest number of each output."""
        return dict(self.min_max_dict)


class LayerHistogramCollector(_RangeCollector):
    """A histogram of each output.

    Args:
        num_bins: of each histogram, an odd number: 0 lies in the middle of one.
        include_layer: see :class:`LayerOutputCollector`.
        logger: the same.
        quantized_dtype: dtype of the integers; with ``auto`` and ``uint8``, outputs that are never
            negative use twice as many of them.
    """

    def __init__(
        self,
        num_bins: int = BINS,
        include_layer: Collection[str] | None = None,
        logger: logging.Logger | ModuleType | None = None,
        quantized_dtype: str = "auto",
    ):
        super().__init__(include_layer, logger)
        self.num_bins = num_bins
        self.quantized_dtype = quantized_dtype
        self.hist_dict: dict[str, Any] = {}

    def _add(self, name: str, values: np.ndarray, least: float, most: float) -> str:
        end = max(abs(least), abs(most))
        if name in self.hist_dict:
            self.hist_dict[name] = combine_histogram(self.hist_dict[name], values, least, most, end)
        else:
            counts, edges = np.histogram(values, bins=self.num_bins, range=(-end, end))
            self.hist_dict[name] = (counts, edges, least, most, end)
        return f"histogram of {values.shape}"

    def ranges(self) -> dict[str, Range]:
        """The ranges whose integers lose the least information about each output (relative entropy)."""
        return {name: self._range(*histogram) for name, histogram in self.hist_dict.items()}

    def _range(self, counts: Any, edges: Any, least: float, most: float, end: float) -> Range:
        if end == 0:
            return 0.0, 0.0
        levels = levels_for(least, self.quantized_dtype, LEVELS)
        threshold = entropy_threshold(counts, edges, levels)
        return (-threshold if levels == LEVELS else 0.0), threshold


def _extent(name: str, values: np.ndarray) -> Range:
    """The least and the greatest number.

    Raises:
        AttributeValueError: one is not finite, so no integer can represent it.
    """
    least, most = float(values.min()), float(values.max())
    if not np.isfinite([least, most]).all():
        raise AttributeValueError(
            f"calib_data: {name!r} ranges from {least} to {most} in one batch, but integers need a finite "
            f"range. Check the examples, or exclude the layers that read it: exclude_layers=[...]."
        )
    return least, most


def levels_for(least: float, quantized_dtype: str, levels: int) -> int:
    """How many integers represent numbers from ``least`` on: twice as many if none needs a sign."""
    return 2 * levels + 1 if least >= 0 and quantized_dtype in ("auto", "uint8") else levels


def entropy_threshold(counts: np.ndarray, edges: np.ndarray, levels: int) -> float:
    """Where a histogram is clipped so that ``levels`` numbers lose the least information."""
    from mixnet.ndarray import contrib  # its functions are made when they are first asked for

    threshold, _ = contrib.calibrate_entropy(
        array(counts, dtype="float32"), array(edges, dtype="float32"), num_quantized_bins=levels
    )
    return float(threshold.item())


def combine_histogram(
    old_hist: Any, arr: np.ndarray, new_min: float, new_max: float, new_th: float
) -> Any:
    """A histogram of activations with one more batch in it.

    Args:
        old_hist: (counts, edges, smallest, largest, threshold); the range is ± threshold.
        arr: the batch.
        new_min: its smallest value.
        new_max: its largest value.
        new_th: the larger of their absolute values.

    Returns:
        The same five values.
    """
    counts, edges, old_min, old_max, old_th = old_hist
    if new_th > old_th:
        if old_th == 0:  # only zeros so far: the bins have no width to keep
            edges = np.linspace(-new_th, new_th, len(counts) + 1)
            old_th = new_th
        else:
            # Bins keep their width: the range grows by whole bins on both sides.
            width = 2 * old_th / len(counts)
            more = int((new_th - old_th) // width + 1)
            old_th = old_th + more * width
            counts = np.pad(counts, more)
    added, edges = np.histogram(arr, bins=len(counts), range=(-old_th, old_th))
    return added + counts, edges, min(old_min, new_min), max(old_max, new_max), old_th


def ranges_of(collector: Any) -> dict[str, Range]:
    """The ranges that a collector found.

    Raises:
        AttributeTypeError: it is not a collector.
    """
    ranges: Callable[[], dict[str, Range]] | None = getattr(collector, "ranges", None)
    if callable(ranges):
        return ranges()
    if isinstance(getattr(collector, "min_max_dict", None), dict):
        return dict(collector.min_max_dict)
    raise AttributeTypeError(
        f"LayerOutputCollector: {type(collector).__name__} has neither a method ranges() nor a dictionary "
        f"min_max_dict; derive it from mx.contrib.quantization.LayerOutputCollector."
    )
