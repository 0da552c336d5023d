"""Recurrent layers and cells: names, text, graphs, numbers and gradients as MXNet has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.gluon import contrib, rnn
from tests.each_record import each_record
from tests.parity.cases import recurrent as cases
from tests.parity.stored_recurrent import FACTS, assert_numbers_of_mxnet

FIXTURES = Path(__file__).parents[1] / "parity" / "fixtures"


@each_record("code", cases.TEXTS)
def test_names_and_text_are_mxnets(code: str) -> None:
    assert cases.text(mx, code) == FACTS["texts"][code]


@each_record(("code", "_", "kwargs"), cases.CELLS, ids=[c[0] for c in cases.CELLS])
def test_graphs_of_cells_are_mxnets(code: str, _: Any, kwargs: dict) -> None:
    assert cases.cell_graph(mx, code, kwargs) == FACTS["graphs"][code]


@pytest.mark.parametrize(("code", "_"), cases.LAYERS, ids=[c[0] for c in cases.LAYERS])
def test_graphs_of_layers_are_mxnets(code: str, _: Any) -> None:
    assert cases.layer_graph(mx, code) == FACTS["graphs"][code]


CELLS = [each for each in cases.CELLS if each[0] in cases.COUNTED]
LAYERS = [each for each in cases.LAYERS if each[0] in cases.COUNTED]


@pytest.mark.parametrize(("code", "shape", "kwargs"), CELLS, ids=[c[0] for c in CELLS])
def test_cells_compute_mxnets_numbers(code: str, shape: tuple, kwargs: dict) -> None:
    call = cases.unrolled(mx, kwargs)
    assert_numbers_of_mxnet(code, cases.numbers(mx, cases.make(mx, code), shape, call))


@pytest.mark.parametrize(("code", "shape"), LAYERS, ids=[c[0] for c in LAYERS])
def test_layers_compute_mxnets_numbers(code: str, shape: tuple) -> None:
    layer = cases.make(mx, code)
    assert_numbers_of_mxnet(code, cases.numbers(mx, layer, shape, cases.with_states(mx)))


def test_a_projection_computes_mxnets_numbers() -> None:
    ((code, shape),) = cases.PREDICTING
    layer = cases.make(mx, code)
    assert_numbers_of_mxnet(
        code, cases.numbers(mx, layer, shape, cases.with_states(mx), train=False)
    )


# ---- layers --------------------------------------------------------------------------------------


def test_a_layer_returns_states_only_if_it_got_some() -> None:
    x = nd.array(cases.data((3, 2, 4)))
    layer = rnn.LSTM(5)
    layer.initialize()
    alone = layer(x)
    outputs, states = layer(x, layer.begin_state(2))
    assert [each.shape for each in states] == [(1, 2, 5), (1, 2, 5)]
    assert np.array_equal(alone.asnumpy(), outputs.asnumpy())
    assert np.array_equal(outputs[-1].asnumpy(), states[0][0].asnumpy())
    layer.hybridize()
    assert isinstance(layer(x), nd.NDArray)
    assert len(layer(x, layer.begin_state(2))) == 2
    assert isinstance(layer(x), nd.NDArray)  # in the other order too
    gru = rnn.GRU(5)
    gru.initialize()
    _, states = gru(x, gru.begin_state(2)[0])  # one state need not be a list
    assert [each.shape for each in states] == [(1, 2, 5)]


def test_a_layer_equals_the_cells_that_its_file_names() -> None:
    x = nd.array(cases.data((2, 3, 4)))
    layer = rnn.LSTM(3, 2, "NTC", bidirectional=True, input_size=4, prefix="a_")
    layer.initialize()
    cases.fill(mx, layer.collect_params())
    stack = rnn.SequentialRNNCell()
    for width in (4, 6):
        pair = [rnn.LSTMCell(3, input_size=width) for _ in range(2)]
        stack.add(rnn.BidirectionalCell(*pair))
    stack.initialize()
    for name, each in layer._collect_params_with_prefix().items():
        own = stack._collect_params_with_prefix()[name.removeprefix("_unfused.")]
        own.set_data(each.data())
    outputs, _ = stack.unroll(3, x, merge_outputs=True)
    np.testing.assert_allclose(layer(x).asnumpy(), outputs.asnumpy(), atol=1e-6)


def test_lengths_and_clipping_are_respected() -> None:
    x = nd.array(cases.data((4, 2, 3)))
    layer = rnn.GRU(3, use_sequence_length=True, bidirectional=True)
    layer.initialize()
    outputs, (state,) = layer(x, layer.begin_state(2), nd.array([2, 4]))
    assert not outputs[2:, 0].asnumpy().any()
    np.testing.assert_array_equal(state[0, 0].asnumpy(), outputs[1, 0, :3].asnumpy())
    clipped = rnn.LSTM(3, state_clip_min=-0.01, state_clip_max=0.01)
    clipped.initialize(mx.init.One())
    _, (_, cell) = clipped(x, clipped.begin_state(2))
    assert np.abs(cell.asnumpy()).max() <= 0.01


def test_dropout_between_layers_applies_in_training_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for source, dtype, is_left_out in (
        ("threefry", "float32", False), ("mxnet", "float64", False), ("mxnet", "float32", True),
    ):  # fmt: skip
        monkeypatch.setenv("MIXNET_RANDOM", source)
        x = nd.ones((3, 2, 4), dtype=dtype)
        layer = rnn.RNN(6, 2, dropout=0.5)
        layer.cast(dtype)
        layer.initialize()
        assert np.array_equal(layer(x).asnumpy(), layer(x).asnumpy())
        with autograd.train_mode():
            assert np.array_equal(layer(x).asnumpy(), layer(x).asnumpy()) == is_left_out


def test_begin_state_has_the_dtype_of_the_layer() -> None:
    layer = rnn.LSTM(3, input_size=2)
    layer.cast("float16")
    assert {each.dtype for each in layer.begin_state(1)} == {np.float16}
    assert np.dtype(layer.l0_i2h_weight.dtype) == np.float16
    ones = rnn.GRU(3).begin_state(2, func=nd.ones, ctx=mx.cpu(), dtype="float64")
    assert ones[0].dtype == np.float64 and ones[0].asnumpy().all()
    symbols = rnn.LSTM(3, prefix="q_").begin_state(func=mx.sym.zeros)
    assert [each.name for each in symbols] == ["q_h0_0", "q_h0_1"]


def test_layers_and_cells_accept_numpy_arrays() -> None:
    x = cases.data((3, 2, 4))
    with mx.util.np_shape(True), mx.util.np_array(True):
        layer = rnn.LSTM(3)
        layer.initialize()
        outputs, states = layer(mx.np.array(x), layer.begin_state(batch_size=2))
        assert {type(each) for each in (outputs, *states)} == {mx.np.ndarray}
        cell = rnn.RNNCell(3)
        cell.initialize()
        merged, _ = cell.unroll(3, mx.np.array(x), layout="TNC", merge_outputs=True)
        assert type(merged) is mx.np.ndarray and merged.shape == (3, 2, 3)


def test_errors_of_layers_name_the_mistake() -> None:
    layer = rnn.LSTM(3)
    layer.initialize()
    with pytest.raises(ValueError, match=r"Invalid recurrent state shape. Expecting \(1, 2, 3\)"):
        layer(nd.ones((3, 2, 4)), layer.begin_state(5))
    state = nd.ones((1, 2, 3))
    with pytest.raises(ValueError, match="Invalid recurrent state shape"):  # before their number
        layer(nd.ones((3, 2, 4)), [nd.ones((1, 2, 5))])
    with pytest.raises(mx.base.ShapeError, match="a list of 2 first states"):
        layer(nd.ones((3, 2, 4)), [state])
    with pytest.raises(AttributeError, match=r"arrays of shape \(1, 2, 3\), not list"):
        layer(nd.ones((3, 2, 4)), [[state, state]])
    with pytest.raises(mx.MXNetError, match="time, batch, units"):
        layer(nd.ones((3, 2)))
    with pytest.raises(AssertionError, match="TNC"):
        rnn.LSTM(3, layout="CNT")
    with pytest.raises(KeyError):
        rnn.RNN(3, activation="sigmoid")
    with pytest.raises(TypeError, match="projection_size"):
        rnn.GRU(3, projection_size=2)
    with pytest.raises(AssertionError, match="an array or a symbol, not int"):
        layer(1)


# ---- files ---------------------------------------------------------------------------------------


def test_files_of_a_layer_are_those_of_mxnet(tmp_path: Path) -> None:
    """What MXNet exported and saved is read; what is written here has its names and open shapes."""
    io = np.load(FIXTURES / "gluon_lstm-io.npz")
    layer = rnn.LSTM(4, input_size=3)
    layer.load_parameters(str(FIXTURES / "gluon_lstm-save_parameters.params"))
    inputs = [nd.array(io[key]) for key in sorted(io.files) if key.startswith("in:")]
    actual = layer(inputs[0], inputs[1:])[0] if len(inputs) > 1 else layer(inputs[0])
    np.testing.assert_allclose(actual.asnumpy(), io["out:0"], atol=1e-6)
    net = gluon.SymbolBlock.imports(
        str(FIXTURES / "gluon_lstm-symbol.json"),
        ["data0", "data1", "data2"],
        str(FIXTURES / "gluon_lstm-0000.params"),
    )
    states = inputs[1:] or layer.begin_state(inputs[0].shape[1])
    np.testing.assert_allclose(net(inputs[0], *states).asnumpy(), io["out:0"], atol=1e-6)
    layer.save_parameters(str(tmp_path / "own.params"))
    assert sorted(nd.load(str(tmp_path / "own.params"))) == sorted(
        nd.load(str(FIXTURES / "gluon_lstm-save_parameters.params"))
    )


class Tagger(gluon.HybridBlock):
    """A network with a layer and an unrolled cell, whose first states are not given."""

    def __init__(self) -> None:
        super().__init__(prefix="tagger_")
        with self.name_scope():
            self.layer = rnn.GRU(4, layout="NTC")
            self.cell = rnn.RNNCell(4)
            self.out = gluon.nn.Dense(2, flatten=False)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Scores of every step."""
        steps, _ = self.cell.unroll(2, self.layer(x), merge_outputs=True)
        return self.out(steps)


def test_an_exported_network_accepts_any_batch_size(tmp_path: Path) -> None:
    net = Tagger()
    net.initialize()
    x = nd.array(cases.data((2, 2, 5)))
    before = net(x).asnumpy()
    net.hybridize()
    np.testing.assert_allclose(net(x).asnumpy(), before, atol=1e-6)
    path = str(tmp_path / "net")
    net.export(path)
    symbol = mx.sym.load(f"{path}-symbol.json")
    assert symbol.infer_shape(data=(7, 2, 5))[1] == [(7, 2, 2)]
    again = gluon.SymbolBlock.imports(f"{path}-symbol.json", ["data"], f"{path}-0000.params")
    np.testing.assert_allclose(again(x[:1]).asnumpy(), before[:1], atol=1e-6)


# ---- cells ---------------------------------------------------------------------------------------


class Counter(rnn.RecurrentCell):
    """A user's cell: adds its inputs up."""

    def state_info(self, batch_size: int = 0) -> Any:
        """One state."""
        return [{"shape": (batch_size, 2), "__layout__": "NC"}]

    def forward(self, inputs: Any, states: Any) -> Any:
        """The sum so far."""
        total = states[0] + inputs
        return total, [total]


class Decay(rnn.HybridRecurrentCell):
    """A user's hybrid cell with a parameter."""

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        with self.name_scope():
            self.rate = self.params.get("rate", shape=(1, 2), init="ones")

    def _alias(self) -> str:
        return "decay"

    def state_info(self, batch_size: int = 0) -> Any:
        """One state."""
        return [{"shape": (batch_size, 2), "__layout__": "NC"}]

    def hybrid_forward(self, F: Any, inputs: Any, states: Any, rate: Any) -> Any:
        """The inputs and a share of what was."""
        out = F.broadcast_add(inputs, F.broadcast_mul(states[0], rate * 0.5))
        return out, [out]


def test_custom_cells_are_unrolled() -> None:
    outputs, states = Counter().unroll(3, nd.ones((1, 3, 2)))
    assert [each.asnumpy()[0, 0] for each in outputs] == [1, 2, 3]
    assert states[0].asnumpy().tolist() == [[3, 3]]
    for hybrid in (False, True):
        cell = Decay(prefix="d_")
        cell.initialize()
        cell.hybridize(hybrid)
        merged, _ = cell.unroll(3, nd.ones((1, 3, 2)), merge_outputs=True)
        assert merged.asnumpy()[0, :, 0].tolist() == [1, 1.5, 1.75]
    stack = rnn.SequentialRNNCell()
    stack.add(cell)
    stack.add(Counter())
    outputs, states = stack.unroll(2, [nd.ones((1, 2))] * 2, valid_length=nd.array([1]))
    assert outputs.asnumpy()[0, :, 0].tolist() == [1, 0]
    assert [each.asnumpy()[0, 0] for each in states] == [1, 1]


def test_stepping_by_hand_is_unrolling() -> None:
    stack = rnn.HybridSequentialRNNCell()
    stack.add(rnn.LSTMCell(3))
    stack.add(rnn.ResidualCell(rnn.RNNCell(3)))
    stack.initialize()
    x = nd.array(cases.data((2, 2, 5)))
    merged, last = stack.unroll(2, x, merge_outputs=True)
    states = stack.begin_state(func=nd.zeros, batch_size=2)
    assert len(states) == len(stack.state_info()) == 3
    for step in range(2):
        output, states = stack(x[:, step], states)
        np.testing.assert_allclose(output.asnumpy(), merged[:, step].asnumpy(), atol=1e-6)
    for own, other in zip(states, last, strict=True):
        np.testing.assert_allclose(own.asnumpy(), other.asnumpy(), atol=1e-6)


def test_zoneout_keeps_the_last_values() -> None:
    cell = rnn.ZoneoutCell(rnn.RNNCell(200, input_size=3), 0.5, 0.0)
    cell.initialize()
    cell.hybridize()  # the last output is no state: it goes from step to step nevertheless
    x = nd.array(cases.data((1, 3, 3)))
    with autograd.train_mode():
        outputs, _ = cell.unroll(3, x)
    rows = np.concatenate([each.asnumpy() for each in outputs])
    shares = [(rows[0] == 0).mean(), *(rows[1:] == rows[:-1]).mean(axis=1)]
    assert 0.35 < min(shares) < max(shares) < 0.65
    outputs, _ = cell.unroll(3, x)
    rows = np.concatenate([each.asnumpy() for each in outputs])
    assert not (rows[1:] == rows[:-1]).any()


def test_variational_dropout_keeps_its_mask() -> None:
    cell = contrib.rnn.VariationalDropoutCell(rnn.RNNCell(40, input_size=3), 0, 0.5, 0.5)
    cell.initialize()
    x = nd.ones((1, 2, 3))
    with autograd.train_mode():
        first, _ = cell.unroll(2, x, merge_outputs=True)
        second, _ = cell.unroll(2, x, merge_outputs=True)
    dropped = first.asnumpy()[0] == 0
    assert (dropped == dropped[0]).all() and 5 < dropped[0].sum() < 35
    assert (dropped[0] != (second.asnumpy()[0, 0] == 0)).any()


def test_a_loop_of_the_graph_is_unrolling() -> None:
    cell = rnn.RNNCell(3, input_size=4)
    cell.initialize()
    x, lengths = nd.array(cases.data((2, 3, 4))), nd.array([2, 3])
    expected = cell.unroll(3, x, None, "NTC", True, lengths)
    actual = contrib.rnn.rnn_cell.dynamic_unroll(
        cell, x, cell.begin_state(2), layout="NTC", valid_length=lengths
    )
    for own, other in zip(cases.flat(actual), cases.flat(expected), strict=True):
        np.testing.assert_allclose(own.asnumpy(), other.asnumpy(), atol=1e-6)


def test_errors_of_cells_name_the_mistake() -> None:
    cell = rnn.RNNCell(3)
    cell.initialize()
    with pytest.raises(AssertionError, match="4 steps, but data"):
        cell.unroll(4, nd.ones((2, 3, 4)))
    with pytest.raises(AssertionError, match="2 steps, but inputs has 3"):
        cell.unroll(2, [nd.ones((2, 4))] * 3)
    with pytest.raises(AssertionError, match="inputs=None"):
        cell.unroll(2, None)
    with pytest.raises(AssertionError, match="needs both N"):
        cell.unroll(2, nd.ones((2, 2, 2)), layout="XYZ")
    inside = rnn.ZoneoutCell(cell, 0.1)
    with pytest.raises(AssertionError, match="Call the modifier cell"):
        inside.base_cell.begin_state(2)
    both = rnn.BidirectionalCell(rnn.RNNCell(3), rnn.RNNCell(3))
    with pytest.raises(NotImplementedError, match="unroll"):
        both(nd.ones((2, 3)), [])
    with pytest.raises(AssertionError, match="each of its two cells"):
        rnn.ZoneoutCell(both)
    with pytest.raises(AssertionError, match="each of its two cells"):
        contrib.rnn.VariationalDropoutCell(both, drop_states=0.5)
    stack = rnn.HybridSequentialRNNCell()
    stack.add(both)
    with pytest.raises(AssertionError, match="cannot be stepped"):
        stack(nd.ones((2, 3)), [])
    with pytest.raises(AssertionError, match="must be a number"):
        rnn.DropoutCell("half")
    with pytest.raises(NotImplementedError, match="state_info"):
        rnn.RecurrentCell().begin_state(2)
    with pytest.raises(AssertionError, match="odd"):
        contrib.rnn.Conv2DRNNCell((1, 4, 4), 2, 3, 2)
    with pytest.raises(AssertionError, match="1 axes"):
        contrib.rnn.Conv1DRNNCell((1, 4), 2, (3, 3), 3)


def test_cells_of_an_unfused_layer_keep_its_initializers() -> None:
    layer = gluon.rnn.GRU(3, input_size=2, h2h_bias_initializer="ones")
    cells = layer._unfuse()
    cells.initialize()
    assert cells[0].h2h_bias.data().asnumpy().tolist() == [1] * 9
    assert cells[0].i2h_bias.data().asnumpy().tolist() == [0] * 9


def test_lengths_that_a_layer_needs_are_named() -> None:
    layer = gluon.rnn.RNN(3, use_sequence_length=True)
    layer.initialize()
    with pytest.raises(mx.MXNetError, match="also takes sequence_length"):
        layer(nd.ones((2, 3, 4)))
