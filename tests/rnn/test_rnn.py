"""Cells of symbols, sentences in buckets, checkpoints: as MXNet's."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import nd
from tests.each_record import each_record
from tests.parity.cases import recurrent as cases
from tests.parity.stored_recurrent import FACTS, assert_numbers_of_mxnet

pytestmark = pytest.mark.filterwarnings("ignore:FusedRNNCell computes in the layout TNC")

x = mx.sym.Variable("data")


@each_record(("code", "shape", "kwargs"), cases.SYMBOLS, ids=[c[0] for c in cases.SYMBOLS])
def test_graphs_and_numbers_are_mxnets(code: str, shape: Any, kwargs: dict) -> None:
    lines, actual = cases.symbolic(mx, code, shape, kwargs)
    assert lines == FACTS["graphs"][code]
    assert_numbers_of_mxnet(code, actual)


def test_weights_of_gates_are_unpacked_and_packed() -> None:
    cell = mx.rnn.LSTMCell(2, prefix="l_")
    args = {
        "l_i2h_weight": nd.arange(24).reshape((8, 3)),
        "l_i2h_bias": nd.arange(8),
        "l_h2h_weight": nd.arange(16).reshape((8, 2)),
        "l_h2h_bias": nd.arange(8),
        "other": nd.ones((1,)),
    }
    separate = cell.unpack_weights(args)
    assert separate["l_i2h_f_weight"].asnumpy().tolist() == [[6, 7, 8], [9, 10, 11]]
    assert separate["l_h2h_o_bias"].asnumpy().tolist() == [6, 7]
    assert len(separate) == 17 and len(args) == 5
    joined = cell.pack_weights(separate)
    assert sorted(joined) == sorted(args)
    for name, each in args.items():
        assert np.array_equal(joined[name].asnumpy(), each.asnumpy())


@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_relu", "rnn_tanh"])
def test_a_fused_cell_equals_its_unfused_cells(mode: str) -> None:
    fused = mx.rnn.FusedRNNCell(3, 2, mode, bidirectional=True, dropout=0.2, prefix="f_")
    cells = fused.unfuse()
    whole = fused.unroll(2, x, merge_outputs=True)[0]
    parts = cells.unroll(2, x, merge_outputs=True)[0]
    (_, (size,), *_), _, _ = whole.infer_shape(data=(2, 2, 4))
    args = {"f_parameters": nd.array(np.sin(np.arange(size)))}
    separate = fused.unpack_weights(args)
    assert np.array_equal(
        fused.pack_weights(separate)["f_parameters"].asnumpy(), args["f_parameters"].asnumpy()
    )
    data = {"data": nd.array(cases.data((2, 2, 4)))}
    one = whole.bind(mx.cpu(), {**data, **args}).forward()[0]
    other = parts.bind(mx.cpu(), {**data, **cells.pack_weights(separate)}).forward()[0]
    np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), atol=1e-6)
    with pytest.raises(mx.MXNetError, match="no number of inputs gives"):
        fused.unpack_weights({"f_parameters": nd.zeros((size + 1,))})


def test_a_fused_cell_accepts_layouts_and_states() -> None:
    fused = mx.rnn.FusedRNNCell(3, mode="lstm", prefix="f_")
    with pytest.warns(UserWarning, match="layout TNC"):
        fused.unroll(2, x)
    fused.unroll(2, x, layout="TNC")  # without a warning, which would be an error
    with pytest.raises(AssertionError, match="Unsupported layout"):
        fused.unroll(2, [x, x], layout="XYZ")
    with pytest.raises(IndexError, match="0 states for mode 'lstm'"):
        fused.unroll(2, x, begin_state=[], layout="TNC")


def test_cells_share_parameters() -> None:
    shared = mx.rnn.RNNParams("p_")
    assert shared.get("w", shape=(2, 3)) is shared.get("w")
    first = mx.rnn.RNNCell(3, prefix="a_", params=shared)
    assert first.params is shared
    stack = mx.rnn.SequentialRNNCell()
    stack.add(mx.rnn.RNNCell(3, prefix="b_"))
    assert list(stack.params._params) == [
        "b_i2h_weight",
        "b_i2h_bias",
        "b_h2h_weight",
        "b_h2h_bias",
    ]
    output, states = stack(x, stack.begin_state(func=mx.sym.Variable))
    assert output.list_arguments()[0] == "data" and len(states) == 1


def test_modifiers_can_be_nested() -> None:
    cell = mx.rnn.ZoneoutCell(mx.rnn.ResidualCell(mx.rnn.GRUCell(4, prefix="g_")), 0.1, 0.1)
    assert [each.name for each in cell.begin_state()] == ["g_begin_state_0"]
    assert next(iter(cell.params._params)) == "g_i2h_weight"
    outputs, _ = cell.unroll(2, x)
    assert mx.sym.Group(outputs).infer_shape(data=(3, 2, 4))[1] == [(3, 4)] * 2


def test_errors_of_cells_name_the_mistake() -> None:
    cell = mx.rnn.RNNCell(3)
    with pytest.raises(AssertionError, match="3 steps, but inputs has 2"):
        cell.unroll(3, [x, x])
    with pytest.raises(AssertionError, match="one output"):
        cell.unroll(2, mx.sym.Group([x, x]))
    with pytest.raises(AssertionError, match="inputs=None"):
        cell.unroll(2, None)
    with pytest.raises(NotImplementedError, match="unfuse"):
        mx.rnn.FusedRNNCell(3)(x, [])
    with pytest.raises(NotImplementedError, match="unroll"):
        mx.rnn.BidirectionalCell(cell, cell)(x, [])
    with pytest.raises(AssertionError, match="unfuse"):
        mx.rnn.ZoneoutCell(mx.rnn.FusedRNNCell(3))
    with pytest.raises(AssertionError, match="each of its two cells"):
        mx.rnn.ZoneoutCell(mx.rnn.BidirectionalCell(cell, cell))
    inside = mx.rnn.ResidualCell(cell)
    with pytest.raises(AssertionError, match="Call the modifier cell"):
        inside.base_cell.begin_state()
    with pytest.raises(AssertionError, match="odd"):
        mx.rnn.ConvRNNCell((1, 2, 4, 4), 2, h2h_kernel=(2, 2))
    with pytest.raises(AssertionError, match="must be a number"):
        mx.rnn.DropoutCell("half")
    with pytest.warns(DeprecationWarning, match="unroll"):
        outputs, _ = mx.rnn.rnn_unroll(mx.rnn.GRUCell(3), 2, input_prefix="q_")
    assert "q_t1_data" in mx.sym.Group(outputs).list_arguments()


# ---- sentences -----------------------------------------------------------------------------------


def test_sentences_are_encoded_as_numbers() -> None:
    sentences = [["the", "cat", "sat"], ["the", "dog"]]
    coded, vocab = mx.rnn.encode_sentences(sentences, start_label=1, invalid_label=0)
    assert coded == [[1, 2, 3], [1, 4]]
    assert vocab == {"\n": 0, "the": 1, "cat": 2, "sat": 3, "dog": 4}
    assert mx.rnn.encode_sentences([["dog"]], vocab)[0] == [[4]]
    assert mx.rnn.encode_sentences([["b", "\n", "a"]], invalid_label=1)[0] == [[0, 1, 2]]
    coded, vocab = mx.rnn.encode_sentences([["the", "bird"]], dict(vocab), unknown_token="<unk>")
    assert coded == [[1, 0]] and vocab["<unk>"] == 0
    with pytest.raises(AssertionError, match="Unknown token bird"):
        mx.rnn.encode_sentences([["bird"]], {"a": 1})


def test_batches_of_buckets(capsys: pytest.CaptureFixture[str]) -> None:
    """The order is MXNet's for the same seeds of Python and NumPy."""
    data = [[i + 1] * count for i, count in enumerate([3, 5, 2, 4, 3, 2, 5, 4, 9, 1, 3, 3])]
    random.seed(1)
    np.random.seed(1)
    batches = mx.rnn.BucketSentenceIter(data, 2, buckets=[5, 3], invalid_label=0, layout="TN")
    assert capsys.readouterr().out == (
        "WARNING: discarded 1 sentences longer than the largest bucket.\n"
    )
    assert batches.default_bucket_key == 5 and batches.buckets == [3, 5]
    assert repr(batches.provide_data) == "[DataDesc[data,(5, 2),<class 'numpy.float32'>,TN]]"
    assert batches.idx == [(0, 4), (1, 0), (1, 2), (0, 0), (0, 2)]
    assert [each.shape for each in batches.data] == [(7, 3), (4, 5)]
    actual = list(batches)
    assert [each.bucket_key for each in actual] == [3, 5, 5, 3, 3]
    for batch in actual:
        rows, labels = batch.data[0].asnumpy().T, batch.label[0].asnumpy().T
        assert np.array_equal(rows[:, 1:], labels[:, :-1]) and not labels[:, -1].any()
        assert batch.provide_data[0].shape == batch.data[0].shape and batch.pad == 0
    with pytest.raises(StopIteration):
        batches.next()
    batches.reset()
    assert len(list(batches)) == 5
    assert mx.rnn.BucketSentenceIter(data, 2).buckets == [2, 3, 4, 5]
    with pytest.raises(ValueError, match="'NT' or 'TN'"):
        mx.rnn.BucketSentenceIter(data, 2, layout="XX")


def test_checkpoints_store_gates_separately(tmp_path: Path) -> None:
    prefix = str(tmp_path / "net")
    fused = mx.rnn.FusedRNNCell(2, prefix="f_")
    net = mx.sym.FullyConnected(fused.unroll(2, x, merge_outputs=True)[0], num_hidden=2, name="fc")
    args = {"f_parameters": nd.arange(56), "fc_weight": nd.ones((2, 4)), "fc_bias": nd.zeros((2,))}
    mx.rnn.save_rnn_checkpoint(fused, prefix, 3, net, args, {})
    stored = nd.load(f"{prefix}-0003.params")
    assert len(stored) == 18 and stored["arg:f_l0_i2h_c_weight"].shape == (2, 3)
    symbol, actual, states = mx.rnn.load_rnn_checkpoint(fused, prefix, 3)
    assert symbol.list_outputs() == ["fc_output"] and states == {}
    assert np.array_equal(actual["f_parameters"].asnumpy(), np.arange(56))
    _, actual, _ = mx.rnn.load_rnn_checkpoint([fused.unfuse()], prefix, 3)
    assert actual["f_l0_i2h_weight"].shape == (8, 3) and "f_parameters" not in actual
    callback = mx.rnn.do_rnn_checkpoint([fused], prefix, period=2)
    for epoch in range(4):
        callback(epoch, net, args, {})
    names = [f"net-000{epoch}.params" for epoch in (2, 3, 4)]
    assert sorted(each.name for each in tmp_path.iterdir()) == [*names, "net-symbol.json"]


def test_reset_of_a_modifier_leaves_the_cell_as_it_is() -> None:
    """As in MXNet 1.9.1: first states count on; ``unroll`` of a residual cell resets the cell itself."""
    cell = mx.rnn.ResidualCell(mx.rnn.LSTMCell(4, prefix="l_"))
    for first in (0, 2):
        cell.reset()
        names = [each.name for each in cell.begin_state()]
        assert names == [f"l_begin_state_{first}", f"l_begin_state_{first + 1}"]
    outputs, _ = cell.unroll(1, [mx.sym.Variable("t0")])
    assert [each.name for each in outputs] == ["l_t0_out_plus_residual"]


def test_the_private_functions_on_lists_of_cells() -> None:
    """Values of MXNet 1.9.1."""
    functions = mx.rnn.rnn_cell
    cells = [mx.rnn.LSTMCell(3, prefix="a_"), mx.rnn.GRUCell(2, prefix="b_")]
    assert functions._cells_state_shape(cells) == [(0, 3), (0, 3), (0, 2)]
    assert functions._cells_state_info(cells)[2] == {"shape": (0, 2), "__layout__": "NC"}
    names = [state.name for state in functions._cells_begin_state(cells)]
    assert names == ["a_begin_state_0", "a_begin_state_1", "b_begin_state_0"]
    shapes = {"i2h_weight": (12, 2), "i2h_bias": (12,), "h2h_weight": (12, 3), "h2h_bias": (12,)}
    joined = {f"a_{name}": nd.random.uniform(shape=shape) for name, shape in shapes.items()}
    shapes = {"i2h_weight": (6, 3), "i2h_bias": (6,), "h2h_weight": (6, 2), "h2h_bias": (6,)}
    joined |= {f"b_{name}": nd.random.uniform(shape=shape) for name, shape in shapes.items()}
    separate = functions._cells_unpack_weights(cells, joined)
    assert len(separate) == 28 and separate["b_i2h_z_weight"].shape == (2, 3)
    again = functions._cells_pack_weights(cells, separate)
    assert again.keys() == joined.keys()
    assert all((again[name] == joined[name]).asnumpy().all() for name in joined)


def test_a_sequence_is_split_along_the_time_of_its_own_layout() -> None:
    data = np.arange(12, dtype="float32").reshape(2, 3, 2)
    split = mx.rnn.rnn_cell._normalize_sequence
    steps, axis = split(3, x, "TNC", False, in_layout="NTC")
    results = mx.sym.Group(steps).eval(data=nd.array(data))
    assert axis == 0
    np.testing.assert_array_equal([r.asnumpy() for r in results], data.swapaxes(0, 1))
    whole, axis = split(3, x, "TNC", True, in_layout="NTC")
    np.testing.assert_array_equal(whole.eval(data=nd.array(data))[0].asnumpy(), data.swapaxes(0, 1))
