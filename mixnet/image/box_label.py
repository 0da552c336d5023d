"""Labels of images with boxes: header width, object width, ..., followed by the objects."""

from __future__ import annotations

import numpy as np


def widths_of(label: np.ndarray) -> tuple[int, int] | None:
    """Width of the header and of an object; None if the numbers are not a box label.

    Args:
        label: numbers, one-dimensional.
    """
    if label.size < 7 or not np.isfinite(label[:2]).all():
        return None
    header, width = int(label[0]), int(label[1])
    fits = 2 <= header < label.size and width >= 5 and (label.size - header) % width == 0
    return (header, width) if fits else None
