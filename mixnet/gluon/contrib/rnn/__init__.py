"""``mx.gluon.contrib.rnn``: convolutional cells, projection, variational dropout."""

from mixnet.gluon.contrib.rnn import conv_rnn_cell as conv_rnn_cell
from mixnet.gluon.contrib.rnn import rnn_cell as rnn_cell
from mixnet.gluon.contrib.rnn.conv_rnn_cell import Conv1DGRUCell as Conv1DGRUCell
from mixnet.gluon.contrib.rnn.conv_rnn_cell import Conv1DLSTMCell as Conv1DLSTMCell
from mixnet.gluon.contrib.rnn.conv_rnn_cell import Conv1DRNNCell as Conv1DRNNCell
from mixnet.gluon.contrib.rnn.conv_rnn_cell import Conv2DGRUCell as Conv2DGRUCell
from mixnet.gluon.contrib.rnn.conv_rnn_cell import Conv2DLSTMCell as Conv2DLSTMCell
from mixnet.gluon.contrib.rnn.conv_rnn_cell import Conv2DRNNCell as Conv2DRNNCell
from mixnet.gluon.contrib.rnn.conv_rnn_cell import Conv3DGRUCell as Conv3DGRUCell
from mixnet.gluon.contrib.rnn.conv_rnn_cell import Conv3DLSTMCell as Conv3DLSTMCell
from mixnet.gluon.contrib.rnn.conv_rnn_cell import Conv3DRNNCell as Conv3DRNNCell
from mixnet.gluon.contrib.rnn.rnn_cell import LSTMPCell as LSTMPCell
from mixnet.gluon.contrib.rnn.rnn_cell import VariationalDropoutCell as VariationalDropoutCell

__all__ = [
    "Conv1DGRUCell",
    "Conv1DLSTMCell",
    "Conv1DRNNCell",
    "Conv2DGRUCell",
    "Conv2DLSTMCell",
    "Conv2DRNNCell",
    "Conv3DGRUCell",
    "Conv3DLSTMCell",
    "Conv3DRNNCell",
    "LSTMPCell",
    "VariationalDropoutCell",
]
