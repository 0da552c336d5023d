"""The recurrent cells under MXNet's module path, and helpers for user-defined cells."""

from typing import Any

from mixnet.base import _as_list as _as_list
from mixnet.gluon.block import Block as Block
from mixnet.gluon.block import HybridBlock as HybridBlock
from mixnet.gluon.rnn.cell import GRUCell as GRUCell
from mixnet.gluon.rnn.cell import HybridRecurrentCell as HybridRecurrentCell
from mixnet.gluon.rnn.cell import LSTMCell as LSTMCell
from mixnet.gluon.rnn.cell import RecurrentCell as RecurrentCell
from mixnet.gluon.rnn.cell import RNNCell as RNNCell
from mixnet.gluon.rnn.container import BidirectionalCell as BidirectionalCell
from mixnet.gluon.rnn.container import HybridSequentialRNNCell as HybridSequentialRNNCell
from mixnet.gluon.rnn.container import SequentialRNNCell as SequentialRNNCell
from mixnet.gluon.rnn.container import _begin_states as _cells_begin_state  # noqa: F401
from mixnet.gluon.rnn.container import _state_info as _cells_state_info  # noqa: F401
from mixnet.gluon.rnn.modifier import DropoutCell as DropoutCell
from mixnet.gluon.rnn.modifier import ModifierCell as ModifierCell
from mixnet.gluon.rnn.modifier import ResidualCell as ResidualCell
from mixnet.gluon.rnn.modifier import ZoneoutCell as ZoneoutCell
from mixnet.gluon.rnn.sequence import TENSORS as tensor_types  # noqa: F401
from mixnet.gluon.rnn.sequence import backwards, operators_of
from mixnet.gluon.rnn.sequence import first_states as _get_begin_state  # noqa: F401
from mixnet.gluon.rnn.sequence import masked as _mask_sequence_variable_length  # noqa: F401
from mixnet.gluon.rnn.sequence import sequence as _format_sequence  # noqa: F401


def _reverse_sequences(
    sequences: list[Any], unroll_step: int, valid_length: Any = None
) -> list[Any]:
    """Steps from the last to the first; with valid lengths, those after them stay at the end."""
    return backwards(operators_of(sequences), sequences, unroll_step, valid_length)
