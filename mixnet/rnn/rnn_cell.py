"""The symbolic cells under MXNet's module path."""

# What `import *` brings beside mixnet's own names, as MXNet's module does.
import functools as functools
import warnings as warnings

from mixnet import initializer as init  # noqa: F401
from mixnet import ndarray as ndarray
from mixnet import symbol as symbol
from mixnet.base import numeric_types as numeric_types
from mixnet.base import string_types as string_types
from mixnet.rnn.cell import BaseRNNCell as BaseRNNCell
from mixnet.rnn.cell import GRUCell as GRUCell
from mixnet.rnn.cell import LSTMCell as LSTMCell
from mixnet.rnn.cell import RNNCell as RNNCell
from mixnet.rnn.cell import RNNParams as RNNParams

# Private names that programs import.
from mixnet.rnn.cell import cells_begin_state as _cells_begin_state  # noqa: F401
from mixnet.rnn.cell import cells_pack_weights as _cells_pack_weights  # noqa: F401
from mixnet.rnn.cell import cells_state_info as _cells_state_info  # noqa: F401
from mixnet.rnn.cell import cells_state_shape as _cells_state_shape  # noqa: F401
from mixnet.rnn.cell import cells_unpack_weights as _cells_unpack_weights  # noqa: F401
from mixnet.rnn.cell import steps_of as _normalize_sequence  # noqa: F401
from mixnet.rnn.container import BidirectionalCell as BidirectionalCell
from mixnet.rnn.container import SequentialRNNCell as SequentialRNNCell
from mixnet.rnn.convolution import BaseConvRNNCell as BaseConvRNNCell
from mixnet.rnn.convolution import ConvGRUCell as ConvGRUCell
from mixnet.rnn.convolution import ConvLSTMCell as ConvLSTMCell
from mixnet.rnn.convolution import ConvRNNCell as ConvRNNCell
from mixnet.rnn.dropout import DropoutCell as DropoutCell
from mixnet.rnn.fused import FusedRNNCell as FusedRNNCell
from mixnet.rnn.modifier import ModifierCell as ModifierCell
from mixnet.rnn.modifier import ResidualCell as ResidualCell
from mixnet.rnn.modifier import ZoneoutCell as ZoneoutCell
