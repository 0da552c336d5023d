"""Iterators over images, by MXNet's names for them here: they belong to ``image``, above, and are found on
first use, which keeps decoders out of ``import mixnet``.
"""

from __future__ import annotations

from typing import Any

OF_RECORDS = (
    "ImageRecordInt8Iter", "ImageRecordIter", "ImageRecordIter_v1", "ImageRecordUInt8Iter",
    "ImageRecordUInt8Iter_v1",
)  # fmt: skip
NAMES = (*OF_RECORDS, "ImageDetRecordIter")


def image_iterator(module: str, name: str) -> Any:
    """The iterator that a module offers under a name without defining it.

    Raises:
        AttributeError: no iterator has this name.
    """
    if name in OF_RECORDS:
        from mixnet.image import record_iterator

        return getattr(record_iterator, name)
    if name == "ImageDetRecordIter":
        from mixnet.image.detection_record import ImageDetRecordIter

        return ImageDetRecordIter
    raise AttributeError(f"module {module!r} has no attribute {name!r}")
