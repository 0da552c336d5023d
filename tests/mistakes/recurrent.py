"""Recurrent layers and cells."""

from mixnet.base import (
    AttributeTypeError,
    CheckError,
    NotAnArrayError,
    ShapeError,
    UnknownNameError,
)
from tests.mistakes.mistake import mistake

MISTAKES = [
    # ---- layers
    mistake(
        "ready(rnn.LSTM(4))(x)",
        (ShapeError, ValueError),
        "(2, 3)",
        "(time, batch, units)",
        "3 axes",
    ),
    mistake("ready(rnn.GRU(4, layout='NTC'))(x)", ShapeError, "(2, 3)", "(batch, time, units)"),
    mistake("ready(rnn.RNN(4))(nd.ones(3))", ShapeError, "(3,)", "(time, batch, units)"),
    mistake("net = ready(rnn.LSTM(4))\nnet.hybridize()\nnet(x)", ShapeError, "(2, 3)", "LSTM"),
    mistake(
        "ready(rnn.LSTM(4, input_size=7))(nd.ones((5, 2, 3)))", ShapeError, "(5, 2, 3)", "7 units"
    ),
    mistake(
        "ready(rnn.LSTM(4))(nd.ones((5, 2, 3)), nd.ones((1, 2, 4)))",
        ShapeError,
        "not 1",
        "begin_state",
    ),
    mistake(
        "ready(rnn.LSTM(4))(nd.ones((5, 2, 3)), [nd.ones((1, 7, 4)), nd.ones((1, 7, 4))])",
        ValueError,
        "(1, 7, 4)",
        "(1, 2, 4)",
        "begin_state(batch_size=2)",
    ),
    mistake("ready(rnn.LSTM(4))([x, x])", (NotAnArrayError, AssertionError), "list", "an array"),
    mistake("rnn.LSTM(4)(nd.ones((5, 2, 3)))", RuntimeError, "_i2h_weight'", "net.initialize()"),
    mistake("rnn.LSTM(4, layout='NCT')", AssertionError, "'NCT'", "'TNC' or 'NTC'"),
    mistake("rnn.LSTM(4, num_layer=2)", AttributeTypeError, "'num_layer'", "'num_layers'"),
    mistake("rnn.RNN(4, activation='foo')", (UnknownNameError, KeyError), "'foo'", "tanh"),
    # ---- cells
    mistake("ready(rnn.LSTMCell(4))(x)", AttributeTypeError, "1 input", "(inputs, states)"),
    mistake(
        "cell = ready(rnn.LSTMCell(4))\ncell(x, cell.begin_state(3))",
        (ShapeError, ValueError),
        "(3, 4)",
        "(2, 4)",
        "begin_state(batch_size=2)",
    ),
    mistake("ready(rnn.LSTMCell(4))(x, [nd.ones((2, 4))])", ValueError, "got 1", "2 state"),
    mistake("ready(rnn.RNNCell(4))(x, nd.ones((2, 4)))", ValueError, "no list", "begin_state"),
    mistake(
        "cell = ready(rnn.GRUCell(4))\ncell(nd.ones((5, 2, 3)), cell.begin_state(2))",
        ShapeError,
        "(5, 2, 3)",
        "unroll(length, inputs)",
    ),
    mistake(
        "ready(rnn.LSTMCell(4)).unroll(5, x)", (CheckError, AssertionError), "(2, 3)", "5 steps"
    ),
    mistake(
        "ready(rnn.LSTMCell(4)).unroll(3, nd.ones((2, 5, 3)))",
        AssertionError,
        "(2, 5, 3)",
        "3 steps",
    ),
    mistake("ready(rnn.LSTMCell(4)).unroll(3, [x, x])", AssertionError, "2", "3 steps"),
    mistake(
        "ready(rnn.LSTMCell(4)).unroll(5, nd.ones((2, 5, 3)), layout='foo')",
        AssertionError,
        "'foo'",
        "'NTC'",
    ),
    mistake("rnn.LSTMCell(4).begin_state(2, 3)", TypeError, "3", "batch_size"),
    mistake("rnn.SequentialRNNCell().add(3)", ValueError, "3", "blocks"),
    mistake("rnn.ResidualCell(3)", TypeError, "3", "rnn.LSTMCell"),
    mistake("rnn.DropoutCell('a')", AssertionError, "'a'", "a number"),
    mistake(
        "mx.rnn.BucketSentenceIter([[1, 2], [3]], batch_size=5)",
        ValueError,
        "batch_size=5",
        "buckets=[...]",
    ),
]
