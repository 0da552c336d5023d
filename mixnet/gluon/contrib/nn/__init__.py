"""``mx.gluon.contrib.nn``: additional layers."""

from mixnet.gluon.contrib.nn import basic_layers as basic_layers
from mixnet.gluon.contrib.nn.concurrent import Concurrent as Concurrent
from mixnet.gluon.contrib.nn.concurrent import HybridConcurrent as HybridConcurrent
from mixnet.gluon.contrib.nn.concurrent import Identity as Identity
from mixnet.gluon.contrib.nn.pixel_shuffle import PixelShuffle1D as PixelShuffle1D
from mixnet.gluon.contrib.nn.pixel_shuffle import PixelShuffle2D as PixelShuffle2D
from mixnet.gluon.contrib.nn.pixel_shuffle import PixelShuffle3D as PixelShuffle3D
from mixnet.gluon.contrib.nn.sparse_embedding import SparseEmbedding as SparseEmbedding
from mixnet.gluon.contrib.nn.sync_batch_norm import SyncBatchNorm as SyncBatchNorm
from mixnet.process.lazy import star_names as _star_names

__all__ = _star_names(globals())
