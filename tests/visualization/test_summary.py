"""The table of layers, line by line as MXNet 1.9.1 prints it."""

from __future__ import annotations

from typing import Any

import pytest

import mixnet as mx


def lenet() -> Any:
    """Layers of every kind that the table and the picture know."""
    net = mx.sym.Variable("data")
    net = mx.sym.Convolution(net, kernel=(5, 5), num_filter=4, name="conv1")
    net = mx.sym.BatchNorm(net, name="bn1")
    net = mx.sym.Activation(net, act_type="tanh", name="tanh1")
    net = mx.sym.Pooling(net, pool_type="max", kernel=(2, 2), stride=(2, 2), name="pool1")
    net = mx.sym.Flatten(net, name="flatten0")
    net = mx.sym.FullyConnected(net, num_hidden=10, name="fc1")
    net = mx.sym.Dropout(net, p=0.5, name="drop")
    net = mx.sym.LeakyReLU(net, name="lr")
    both = mx.sym.Concat(mx.sym.broadcast_add(net, net, name="sum"), net, name="cc")
    net = mx.sym.FullyConnected(both, num_hidden=10, no_bias=True, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


ROWS = [
    ("data(null)", "1x28x28", "0", ""),
    ("conv1(Convolution)", "4x24x24", "104", "data"),
    ("bn1(BatchNorm)", "4x24x24", "8", "conv1"),
    ("tanh1(Activation)", "4x24x24", "0", "bn1"),
    ("pool1(Pooling)", "4x12x12", "0", "tanh1"),
    ("flatten0(Flatten)", "576", "0", "pool1"),
    ("fc1(FullyConnected)", "10", "5770", "flatten0"),
    ("drop(Dropout)", "10", "0", "fc1"),
    ("lr(LeakyReLU)", "10", "0", "drop"),
    ("sum(broadcast_add)", "10", "0", "lr"),
    ("", "", "", "lr"),
    ("cc(Concat)", "20", "0", "sum"),
    ("", "", "", "lr"),
    ("fc2(FullyConnected)", "10", "200", "cc"),
    ("softmax(SoftmaxOutput)", "10", "0", "fc2"),
]


def _table(rows: list[tuple[str, ...]], ends: list[int], total: int) -> list[str]:
    def line(fields: tuple[str, ...]) -> str:
        text = ""
        for field, end in zip(fields, ends, strict=True):
            text = (text + field)[:end].ljust(end)
        return text

    head = ("Layer (type)", "Output Shape", "Param #", "Previous Layer")
    width = ends[-1]
    lines = ["_" * width, line(head), "=" * width]
    for i, row in enumerate(rows):
        if i and row[0]:
            lines.append("_" * width)
        lines.append(line(row))
    return [*lines, "=" * width, f"Total params: {total}", "_" * width]


def test_the_table_is_mxnets(capsys: pytest.CaptureFixture[str]) -> None:
    mx.viz.print_summary(lenet(), shape={"data": (1, 1, 28, 28)})
    assert capsys.readouterr().out.splitlines() == _table(ROWS, [52, 76, 88, 120], 6082)
    mx.viz.print_summary(lenet(), {"data": (8, 1, 28, 28)}, 80, [0.3, 0.5, 0.7, 1.0])
    assert capsys.readouterr().out.splitlines() == _table(ROWS, [24, 40, 56, 80], 6082)


def test_the_table_without_shapes_is_mxnets(capsys: pytest.CaptureFixture[str]) -> None:
    mx.viz.print_summary(lenet())
    counts = {"conv1(Convolution)": "4", "fc1(FullyConnected)": "10"}
    rows = [(r[0], "", counts.get(r[0], "0" if r[0] else ""), r[3]) for r in ROWS]
    assert capsys.readouterr().out.splitlines() == _table(rows, [52, 76, 88, 120], 14)


def test_the_table_counts_groups_embeddings_and_grouped_filters(
    capsys: pytest.CaptureFixture[str],
) -> None:
    data = mx.sym.Variable("data")
    deconvolution = mx.sym.Deconvolution(data, kernel=(3, 3), num_filter=2, name="deconv")
    ids = mx.sym.Variable("ids")
    embedding = mx.sym.Embedding(ids, input_dim=10, output_dim=4, name="emb")
    both = mx.sym.Group([deconvolution, embedding])
    mx.viz.print_summary(both, shape={"data": (1, 3, 4, 4), "ids": (2, 3)})
    rows = [
        ("data(null)", "3x4x4", "0", ""),
        ("deconv(Deconvolution)", "2x6x6", "0", "data"),
        ("emb(Embedding)", "3x4", "40", ""),
    ]
    assert capsys.readouterr().out.splitlines() == _table(rows, [52, 76, 88, 120], 40)
    grouped = mx.sym.Convolution(
        data, kernel=(3, 3), num_filter=4, num_group=2, no_bias=True, name="g"
    )
    mx.viz.print_summary(grouped, shape={"data": (1, 4, 8, 8)})
    rows = [("data(null)", "4x8x8", "0", ""), ("g(Convolution)", "4x6x6", "72", "data")]
    assert capsys.readouterr().out.splitlines() == _table(rows, [52, 76, 88, 120], 72)


def test_shapes_that_cannot_be_inferred_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(mx.MXNetError) as raised:
        mx.viz.print_summary(lenet(), shape={"dat": (1, 2)})
    assert type(raised.value).__name__ == "MXNetError"
    assert capsys.readouterr().out == "infer_shape error. Arguments:\n  dat: (1, 2)\n"


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match="symbol must be a Symbol, not int"):
        mx.viz.print_summary(3)
    with pytest.raises(ValueError, match=r"Input shape is incomplete.*data, conv1_weight"):
        mx.viz.print_summary(lenet(), shape={"softmax_label": (1,)})
    with pytest.raises(mx.MXNetError, match="no variable 'dat'"):
        mx.viz.print_summary(lenet(), shape={"dat": (1, 2)})


def test_a_shape_that_is_a_list_is_refused() -> None:
    with pytest.raises(TypeError, match=r"'data' is \[1, 1, 28, 28\]"):
        mx.viz.print_summary(lenet(), shape={"data": [1, 1, 28, 28]})


def test_an_output_with_the_name_of_its_node_shows_its_shape(
    capsys: pytest.CaptureFixture[str],
) -> None:
    data = mx.sym.Variable("data")
    cell = mx.rnn.FusedRNNCell(num_hidden=4, prefix="rnn_", get_next_state=True)
    steps, _ = cell.unroll(3, inputs=data, layout="TNC", merge_outputs=True)
    dense = mx.sym.FullyConnected(steps, num_hidden=2, name="fc")
    mx.viz.print_summary(dense, shape={"data": (3, 2, 5)})
    rows = [
        ("data(null)", "2x5", "0", ""),
        ("rnn_begin_state_0(_zeros)", "2x4", "0", ""),
        ("rnn_begin_state_1(_zeros)", "2x4", "0", ""),
        ("rnn_rnn(RNN)", "2x4", "0", "data"),
        ("", "", "", "rnn_begin_state_0"),
        ("", "", "", "rnn_begin_state_1"),
        ("fc(FullyConnected)", "2", "6", "rnn_rnn"),
    ]
    assert capsys.readouterr().out.splitlines() == _table(rows, [52, 76, 88, 120], 6)
    halves = mx.sym.split(data, num_outputs=2, axis=2, name="halves")
    mx.viz.print_summary(halves[0] + halves[1], shape={"data": (3, 2, 4)})
    assert "halves(SliceChannel)                                                        0" in (
        capsys.readouterr().out
    )
