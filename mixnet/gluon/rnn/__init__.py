"""``mx.gluon.rnn``: recurrent layers over whole sequences, and single-step cells."""

import typing as _typing

from mixnet.gluon.rnn import rnn_cell as rnn_cell
from mixnet.gluon.rnn import rnn_layer as rnn_layer
from mixnet.gluon.rnn.cell import GRUCell as GRUCell
from mixnet.gluon.rnn.cell import HybridRecurrentCell as HybridRecurrentCell
from mixnet.gluon.rnn.cell import LSTMCell as LSTMCell
from mixnet.gluon.rnn.cell import RecurrentCell as RecurrentCell
from mixnet.gluon.rnn.cell import RNNCell as RNNCell
from mixnet.gluon.rnn.container import BidirectionalCell as BidirectionalCell
from mixnet.gluon.rnn.container import HybridSequentialRNNCell as HybridSequentialRNNCell
from mixnet.gluon.rnn.container import SequentialRNNCell as SequentialRNNCell
from mixnet.gluon.rnn.layer import GRU as GRU
from mixnet.gluon.rnn.layer import LSTM as LSTM
from mixnet.gluon.rnn.layer import RNN as RNN
from mixnet.gluon.rnn.modifier import DropoutCell as DropoutCell
from mixnet.gluon.rnn.modifier import ModifierCell as ModifierCell
from mixnet.gluon.rnn.modifier import ResidualCell as ResidualCell
from mixnet.gluon.rnn.modifier import ZoneoutCell as ZoneoutCell
from mixnet.process.lazy import names_later as _names_later
from mixnet.process.lazy import star_names as _star_names

__all__ = _star_names(globals(), ("rnn_cell", "rnn_layer"))

if not _typing.TYPE_CHECKING:  # the error of a name that is misspelt names the nearest one
    __getattr__, __dir__ = _names_later(globals(), {})
