"""MXNet's import path ``mx.io.utils``."""

from collections import OrderedDict as OrderedDict

import numpy as np  # noqa: F401

from mixnet.io.source import named_sources as _init_data  # noqa: F401
from mixnet.ndarray import sparse as _sparse
from mixnet.ndarray.create import array as array
from mixnet.ndarray.csr_array import CSRNDArray as CSRNDArray
from mixnet.ndarray.ndarray import NDArray as NDArray

sparse_array = _sparse.array
h5py = None
