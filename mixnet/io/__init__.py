"""``mx.io``: iterators over batches."""

from typing import Any as _Any

from mixnet.io import io as io
from mixnet.io import utils as utils
from mixnet.io.batch import DataBatch as DataBatch
from mixnet.io.batch import DataDesc as DataDesc
from mixnet.io.files import CSVIter as CSVIter
from mixnet.io.files import LibSVMIter as LibSVMIter
from mixnet.io.files import MNISTIter as MNISTIter
from mixnet.io.image_iterators import NAMES as _image_names
from mixnet.io.image_iterators import image_iterator as _image_iterator
from mixnet.io.iterator import DataIter as DataIter
from mixnet.io.loader import MXDataIter as MXDataIter
from mixnet.io.ndarray_iter import NDArrayIter as NDArrayIter
from mixnet.io.source import named_sources as _init_data
from mixnet.io.utils import _getdata_by_idx as _getdata_by_idx
from mixnet.io.utils import _has_instance as _has_instance
from mixnet.io.wrappers import PrefetchingIter as PrefetchingIter
from mixnet.io.wrappers import ResizeIter as ResizeIter
from mixnet.process.lazy import star_names as _star_names


def __getattr__(name: str) -> _Any:
    if name == "__all__":  # what `import *` brings
        return sorted({*_star_names(globals(), ("io", "utils")), *_image_names})
    return _image_iterator(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_image_names})
