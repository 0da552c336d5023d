"""``mx.io``: iterators over batches."""

from mixnet.io.batch import DataBatch as DataBatch
from mixnet.io.batch import DataDesc as DataDesc
from mixnet.io.iterator import DataIter as DataIter
from mixnet.io.ndarray_iter import NDArrayIter as NDArrayIter
