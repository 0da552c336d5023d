"""The recurrent layers under MXNet's module path."""

from mixnet.gluon.rnn.layer import GRU as GRU
from mixnet.gluon.rnn.layer import LSTM as LSTM
from mixnet.gluon.rnn.layer import RNN as RNN
from mixnet.gluon.rnn.layer import _RNNLayer as _RNNLayer
