"""``mx.io``: iterators over batches."""

from typing import Any as _Any

from mixnet.io.batch import DataBatch as DataBatch
from mixnet.io.batch import DataDesc as DataDesc
from mixnet.io.files import CSVIter as CSVIter
from mixnet.io.files import LibSVMIter as LibSVMIter
from mixnet.io.files import MNISTIter as MNISTIter
from mixnet.io.iterator import DataIter as DataIter
from mixnet.io.loader import MXDataIter as MXDataIter
from mixnet.io.ndarray_iter import NDArrayIter as NDArrayIter
from mixnet.io.source import named_sources as _init_data
from mixnet.io.wrappers import PrefetchingIter as PrefetchingIter
from mixnet.io.wrappers import ResizeIter as ResizeIter
from mixnet.process.lazy import star_names as _star_names

# They belong to the images above, under MXNet's name for them here: found on first use.
_IMAGE_ITERATORS = (
    "ImageRecordInt8Iter", "ImageRecordIter", "ImageRecordIter_v1", "ImageRecordUInt8Iter",
    "ImageRecordUInt8Iter_v1",
)  # fmt: skip


def __getattr__(name: str) -> _Any:
    if name == "__all__":  # what `import *` brings
        names = {*_star_names(globals(), ("io", "utils")), *_IMAGE_ITERATORS, "ImageDetRecordIter"}
        return sorted(names)
    if name in _IMAGE_ITERATORS:
        import mixnet.image.record_iterator as record_iterator

        return getattr(record_iterator, name)
    if name == "ImageDetRecordIter":
        from mixnet.image.detection_record import ImageDetRecordIter

        return ImageDetRecordIter
    raise AttributeError(f"module 'mixnet.io' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_IMAGE_ITERATORS, "ImageDetRecordIter"})


from mixnet.io import io as io  # noqa: E402 - MXNet's own import path, made of the names above
from mixnet.io import utils as utils  # noqa: E402
