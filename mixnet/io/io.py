"""MXNet's import path ``mx.io.io``."""

# What `import *` brings beside the iterators, as MXNet's module does.
import logging as logging
import sys as sys
import threading as threading
from collections import namedtuple as namedtuple
from typing import Any as _Any

import numpy as np  # noqa: F401

from mixnet.base import mx_real_t as mx_real_t
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
from mixnet.io.source import named_sources as _init_data  # noqa: F401
from mixnet.io.wrappers import PrefetchingIter as PrefetchingIter
from mixnet.io.wrappers import ResizeIter as ResizeIter
from mixnet.ndarray import concat as concat
from mixnet.ndarray import tile as tile
from mixnet.ndarray.create import array as array
from mixnet.ndarray.csr_array import CSRNDArray as CSRNDArray
from mixnet.ndarray.ndarray import NDArray as NDArray


def __getattr__(name: str) -> _Any:
    if name == "__all__":  # what `import *` brings
        return sorted({*(each for each in globals() if not each.startswith("_")), *_image_names})
    return _image_iterator(__name__, name)
