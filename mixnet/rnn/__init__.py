"""``mx.rnn``: recurrent cells on symbols, bucketed sentences, checkpoints."""

# What `import *` brings beside mixnet's own names, as MXNet's module does.
import bisect as bisect
import functools as functools
import random as random
import warnings as warnings

import numpy as np

from mixnet import initializer as init
from mixnet import ndarray as ndarray
from mixnet import symbol as symbol
from mixnet.base import numeric_types as numeric_types
from mixnet.base import string_types as string_types
from mixnet.checkpoint import load_checkpoint as load_checkpoint
from mixnet.checkpoint import save_checkpoint as save_checkpoint
from mixnet.io import DataBatch as DataBatch
from mixnet.io import DataDesc as DataDesc
from mixnet.io import DataIter as DataIter
from mixnet.process.lazy import star_names as _star_names
from mixnet.rnn import io as io
from mixnet.rnn import rnn as rnn
from mixnet.rnn import rnn_cell as rnn_cell
from mixnet.rnn.cell import BaseRNNCell as BaseRNNCell
from mixnet.rnn.cell import GRUCell as GRUCell
from mixnet.rnn.cell import LSTMCell as LSTMCell
from mixnet.rnn.cell import RNNCell as RNNCell
from mixnet.rnn.cell import RNNParams as RNNParams
from mixnet.rnn.container import BidirectionalCell as BidirectionalCell
from mixnet.rnn.container import SequentialRNNCell as SequentialRNNCell
from mixnet.rnn.convolution import BaseConvRNNCell as BaseConvRNNCell
from mixnet.rnn.convolution import ConvGRUCell as ConvGRUCell
from mixnet.rnn.convolution import ConvLSTMCell as ConvLSTMCell
from mixnet.rnn.convolution import ConvRNNCell as ConvRNNCell
from mixnet.rnn.dropout import DropoutCell as DropoutCell
from mixnet.rnn.fused import FusedRNNCell as FusedRNNCell
from mixnet.rnn.io import BucketSentenceIter as BucketSentenceIter
from mixnet.rnn.io import encode_sentences as encode_sentences
from mixnet.rnn.modifier import ModifierCell as ModifierCell
from mixnet.rnn.modifier import ResidualCell as ResidualCell
from mixnet.rnn.modifier import ZoneoutCell as ZoneoutCell
from mixnet.rnn.rnn import do_rnn_checkpoint as do_rnn_checkpoint
from mixnet.rnn.rnn import load_rnn_checkpoint as load_rnn_checkpoint
from mixnet.rnn.rnn import rnn_unroll as rnn_unroll
from mixnet.rnn.rnn import save_rnn_checkpoint as save_rnn_checkpoint

__all__ = _star_names(globals(), ("io", "rnn", "rnn_cell"))
