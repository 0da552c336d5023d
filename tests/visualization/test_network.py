"""plot_network: nodes, labels and attributes are those of MXNet 1.9.1's pictures."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

import mixnet as mx
from tests.visualization.test_summary import lenet

graphviz = pytest.importorskip("graphviz", reason="pip install graphviz")

COLOURS = {
    "data": "#8dd3c7", "conv1": "#fb8072", "bn1": "#bebada", "tanh1": "#ffffb3", "pool1": "#80b1d3",
    "flatten0": "#fdb462", "fc1": "#fb8072", "drop": "#fccde5", "lr": "#ffffb3", "sum": "#fccde5",
    "cc": "#fdb462", "fc2": "#fb8072", "softmax_label": "#8dd3c7", "softmax": "#fccde5",
}  # fmt: skip
LABELS = {
    "conv1": '"Convolution\n5x5/1, 4"', "tanh1": '"Activation\ntanh"',
    "pool1": '"Pooling\nmax, 2x2/2x2"', "fc1": '"FullyConnected\n10"', "lr": '"LeakyReLU\nLeaky"',
    "fc2": '"FullyConnected\n10"',
}  # fmt: skip
EDGES = [
    "conv1 -> data", "bn1 -> conv1", "tanh1 -> bn1", "pool1 -> tanh1", "flatten0 -> pool1",
    "fc1 -> flatten0", "drop -> fc1", "lr -> drop", "sum -> lr", "sum -> lr", "cc -> sum",
    "cc -> lr", "fc2 -> cc", "softmax -> fc2", "softmax -> softmax_label",
]  # fmt: skip


def _edges(picture: Any) -> dict[str, str]:
    result = re.findall(r"\t(\w+ -> \w+) \[label=\"?([^\"\]]*?)\"? arrowtail", picture.source)
    return dict(result)


def test_the_source_of_a_picture_is_mxnets() -> None:
    picture = mx.viz.plot_network(lenet())
    assert isinstance(picture, graphviz.Digraph)
    lines = ["digraph plot {"]
    for name, colour in COLOURS.items():
        shape = "oval" if name in ("data", "softmax_label") else "box"
        lines.append(
            f'\t{name} [label={LABELS.get(name, name)} fillcolor="{colour}" fixedsize=true '
            f"height=0.8034 shape={shape} style=filled width=1.3]"
        )
    lines += [f'\t{edge} [label="" arrowtail=open dir=back]' for edge in EDGES]
    assert picture.source.strip() == "\n".join([*lines, "}"])
    assert (picture.name, picture.format) == ("plot", "pdf")


def test_shapes_and_dtypes_are_shown_at_the_edges() -> None:
    shape = {"data": (1, 1, 28, 28)}
    edges = _edges(mx.viz.plot_network(lenet(), shape=shape))
    assert edges["conv1 -> data"] == "1x28x28" and edges["fc1 -> flatten0"] == "576"
    assert edges["softmax -> softmax_label"] == ""
    types = {"data": "float16"}
    edges = _edges(mx.viz.plot_network(lenet(), shape=shape, dtype=types))
    assert edges["pool1 -> tanh1"] == "4x24x24(float16)"


def test_weights_and_attributes_of_nodes_are_drawn() -> None:
    picture = mx.viz.plot_network(
        lenet(), title="my net", save_format="png", node_attrs={"shape": "oval", "fixedsize": "false"},
        hide_weights=False,
    )  # fmt: skip
    source = picture.source
    assert source.startswith('digraph "my net" {') and picture.format == "png"
    assert "fixedsize=false height=0.8034 shape=oval" in source and "shape=box" not in source
    assert "\tconv1 -> conv1_weight [" in source and "\tbn1 -> bn1_moving_var [" in source
    assert "\tconv1_weight [" not in source


def test_repeated_node_names_cause_a_warning() -> None:
    data = mx.sym.Variable("data")
    dense = [mx.sym.FullyConnected(data, num_hidden=1, name="x") for _ in range(2)]
    with pytest.warns(RuntimeWarning, match="Repeated names: .*x_weight"):
        mx.viz.plot_network(dense[0] + dense[1])


def test_wrong_arguments_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TypeError, match="symbol must be a Symbol"):
        mx.viz.plot_network(3)
    with pytest.raises(ValueError, match="Input shape is incomplete"):
        mx.viz.plot_network(lenet(), shape={"softmax_label": (1,)})
    monkeypatch.setitem(sys.modules, "graphviz", None)
    monkeypatch.delitem(sys.modules, "mixnet.visualization.digraph", raising=False)
    with pytest.raises(ImportError, match="pip install graphviz"):
        mx.viz.plot_network(lenet())


def test_pictures_need_the_program_dot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    picture = mx.viz.plot_network(lenet(), shape={"data": (1, 1, 28, 28)})
    shown = picture._repr_mimebundle_()["image/svg+xml"]
    assert shown.startswith("<svg") and ">conv1<" in shown
    assert picture._repr_svg_() == shown and picture.pipe("svg").decode() == shown
    with pytest.warns(UserWarning, match="'dot' was not found"):
        path = picture.render(str(tmp_path / "net"))
    assert path == str(tmp_path / "net.svg") and Path(path).read_text() == shown
    assert (tmp_path / "net").read_text() == picture.source
    with pytest.raises(graphviz.ExecutableNotFound):
        picture.pipe("png")
