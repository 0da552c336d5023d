"""Thresholds of histograms, by the names with which other quantizers ask MXNet for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.base import AttributeTypeError, AttributeValueError
from mixnet.contrib.quantization.collect import LEVELS, levels_for
from mixnet.ndarray.create import array

if TYPE_CHECKING:
    import logging
    from types import ModuleType

    Threshold = tuple[float, float, np.ndarray, np.ndarray]


def optimal_threshold(
    hist_data: Any, quantized_dtype: str, num_quantized_bins: int = LEVELS
) -> Threshold:
    """Where a histogram is clipped so that its integers lose the least information (relative entropy).

    Args:
        hist_data: (counts, edges, smallest, largest, end), as :func:`combine_histogram` returns it.
        quantized_dtype: ``int8``, ``uint8`` or ``auto``; the last two use twice as many integers for
            numbers that are never negative.
        num_quantized_bins: how many integers there are.

    Returns:
        The smallest and the largest number, the threshold and the divergence, the last two as arrays of
        one element.

    Raises:
        AttributeValueError: ``hist_data`` is not such a histogram, or has an even number of bins.
    """
    from mixnet.ndarray import contrib  # its functions are made when they are first asked for

    try:
        counts, edges, least, most, _ = hist_data
    except (TypeError, ValueError) as error:
        raise AttributeValueError(
            "hist_data: expected (counts, edges, smallest, largest, end), as "
            f"LayerHistogramCollector.hist_dict has it, not {type(hist_data).__name__}."
        ) from error
    if len(counts) % 2 == 0:
        raise AttributeValueError(
            f"hist_data: {len(counts)} bins; an odd number is needed, so that 0 lies in the middle of one."
        )
    threshold, divergence = contrib.calibrate_entropy(
        array(counts, dtype="float32"),
        array(edges, dtype="float32"),
        num_quantized_bins=levels_for(least, quantized_dtype, num_quantized_bins),
    )
    return least, most, threshold.asnumpy(), divergence.asnumpy()


def optimal_thresholds(
    hist_dict: dict[str, Any],
    quantized_dtype: str,
    num_quantized_bins: int = LEVELS,
    logger: logging.Logger | ModuleType | None = None,
) -> dict[str, tuple[Any, np.ndarray]]:
    """The range of each histogram of a dictionary, which is emptied to free its memory.

    Args:
        hist_dict: histograms by name.
        quantized_dtype: see :func:`optimal_threshold`.
        num_quantized_bins: the same.
        logger: gets a line for each.

    Raises:
        AttributeTypeError: ``hist_dict`` is not a dictionary.
    """
    if not isinstance(hist_dict, dict):
        raise AttributeTypeError(
            f"hist_dict: expected a dictionary of histograms by name, not {type(hist_dict).__name__}."
        )
    ranges: dict[str, tuple[Any, np.ndarray]] = {}
    for name in list(hist_dict):
        least, most, threshold, divergence = optimal_threshold(
            hist_dict[name], quantized_dtype, num_quantized_bins
        )
        unsigned = levels_for(least, quantized_dtype, num_quantized_bins) != num_quantized_bins
        ranges[name] = (0 if unsigned else -threshold, threshold)
        del hist_dict[name]
        if logger:
            logger.debug(
                f"layer={name}, min_val={least}, max_val={most}, th={threshold}, divergence={divergence}"
            )
    return ranges
