"""MXNet's import path ``mx.io.io``."""

from typing import Any

from mixnet.io.batch import DataBatch as DataBatch
from mixnet.io.batch import DataDesc as DataDesc
from mixnet.io.files import CSVIter as CSVIter
from mixnet.io.files import LibSVMIter as LibSVMIter
from mixnet.io.files import MNISTIter as MNISTIter
from mixnet.io.image_iterators import image_iterator as _image_iterator
from mixnet.io.iterator import DataIter as DataIter
from mixnet.io.loader import MXDataIter as MXDataIter
from mixnet.io.ndarray_iter import NDArrayIter as NDArrayIter
from mixnet.io.source import named_sources as _init_data  # noqa: F401
from mixnet.io.wrappers import PrefetchingIter as PrefetchingIter
from mixnet.io.wrappers import ResizeIter as ResizeIter


def __getattr__(name: str) -> Any:
    return _image_iterator(__name__, name)
