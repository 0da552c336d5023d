"""``mx.look``: numbers against autograd, JAX and NumPy, memory against ``memory_plan``, links
against what is known by hand.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.base import AttributeTypeError, FileFormatError, MXNetError
from mixnet.gluon import nn
from mixnet.widgets import EngineTimeline, Look, MemoryView, live, page
from mixnet.widgets.graph.payload import Reader
from mixnet.widgets.look.numbers import BINS, numbers
from mixnet.widgets.svg import text_width
from tests.lines import line_within
from tests.widgets.networks import TwoLayers


class Net(gluon.HybridBlock):
    def __init__(self) -> None:
        super().__init__()
        self.wide = nn.Dense(8, activation="relu", in_units=3)
        self.norm = nn.BatchNorm(in_channels=8)
        self.out = nn.Dense(2, in_units=8)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        x = self.wide(x)
        x = self.norm(x)
        return self.out(x)


@pytest.fixture(scope="module")
def example() -> tuple[Net, nd.NDArray, nd.NDArray, Look]:
    net = Net()
    net.initialize(mx.init.Xavier())
    x, y = nd.array(np.linspace(-1, 1, 12).reshape(4, 3)), nd.array([0, 1, 0, 1])
    return net, x, y, Look(net, x, y)


def row_of(view: Look, label: str) -> int:
    names, labels = view.payload["graph"]["names"], view.payload["labels"]
    return next(i for i, name in enumerate(names) if label in (name, labels.get(name)))


def close(row: list[Any], array: Any) -> None:
    array = np.asarray(array, "float64")
    expected = [array.min(), array.max(), array.mean(), array.std()]
    np.testing.assert_allclose(row[:4], expected, rtol=5.1e-3, atol=1e-6)


def test_numbers_are_those_of_the_network_and_its_gradients(example: Any) -> None:
    net, x, y, view = example
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    with autograd.record():
        loss = loss_of(net(x), y)
    loss.backward()
    rows = view.payload["numbers"]
    close(rows[row_of(view, "loss.mean0")][0], loss.asnumpy())
    close(rows[row_of(view, "wide.weight")][0], net.wide.weight.data().asnumpy())
    of_data, of_weight, of_bias = rows[row_of(view, "∇ out")]
    close(of_weight, net.out.weight.grad().asnumpy())
    close(of_bias, net.out.bias.grad().asnumpy())
    assert of_data[5] == of_data[6] == 0
    assert "class labels" in view.payload["notes"][0]


class Plain(gluon.Block):
    def __init__(self) -> None:
        super().__init__()
        self.wide, self.out = nn.Dense(4), nn.Dense(2)

    def forward(self, x: Any) -> Any:
        return self.out(self.wide(x).tanh())


def test_gradients_of_a_block_that_cannot_be_hybridized() -> None:
    net = Plain()
    net.initialize(mx.init.Xavier())
    x, y = nd.array(np.linspace(-1, 1, 12).reshape(4, 3)), np.array([0, 1, 0, 1], "float32")
    view = Look(net, x, y, compile=False)
    assert not net.out.weight.grad().asnumpy().any(), "looking changes no gradient"
    with autograd.record():
        loss = gluon.loss.SoftmaxCrossEntropyLoss()(net(x), nd.array(y))
    loss.backward()
    assert "class labels" in view.payload["notes"][0] and view.payload["missing"].keys() == {"runs"}
    names, rows = view.payload["graph"]["names"], view.payload["numbers"]
    assert not any("uniform" in name for name in names), "the initialization is not a part of it"
    close(rows[names.index("mean")][0], loss.asnumpy())
    gradients = [row for row in rows[names.index("backward_FullyConnected0")] if row is not None]
    close(gradients[-2], net.out.weight.grad().asnumpy())
    close(gradients[-1], net.out.bias.grad().asnumpy())
    net.out = nn.Dense(2, in_units=5)
    net.out.initialize()
    assert "takes 5 numbers" in Look(net, x, y).payload["graph"]["error"]["text"]


def test_a_shape_is_enough_for_the_graph_of_a_network_that_has_none_yet() -> None:
    net = nn.Dense(2)
    net.initialize()
    view = Look(net, (4, 3), compile=False)
    assert "you passed shapes" in view.payload["notes"][0] and view.payload["numbers"] is None
    with pytest.raises(AttributeTypeError, match="expected a loss such as"):
        Look(net, nd.ones((4, 3)), nd.ones(4), loss="l2")


def test_nothing_of_the_network_changes() -> None:
    net = Net()
    net.initialize()
    x = nd.ones((4, 3))
    net.norm.running_mean.data()[:] = 3.0
    before = {n: p.data().asnumpy() for n, p in net.collect_params().items()}
    mx.random.seed(5)
    expected = nd.random.uniform(shape=2).asnumpy()
    mx.random.seed(5)
    Look(net, x, nd.zeros((4,)), compile=False)
    np.testing.assert_array_equal(nd.random.uniform(shape=2).asnumpy(), expected)
    for name, each in net.collect_params().items():
        np.testing.assert_array_equal(each.data().asnumpy(), before[name])
    assert not net.out.weight.grad().asnumpy().any()


def test_memory_is_that_of_the_memory_view(example: Any) -> None:
    net, x, y, view = example
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    other = MemoryView(net, x, y, loss=loss, xla=False)
    assert {each["name"]: each["total"] for each in view.payload["memory"]["plans"]} == other.totals
    steps = view.payload["memory"]["graphs"][0]["steps"]["name"]
    assert set(steps) <= set(view.payload["graph"]["names"])
    assert view.selected == steps[view.state["at"]], "it begins at the peak"


def test_a_row_has_its_line_its_layer_its_task_and_its_pieces(example: Any) -> None:
    *_, view = example
    wide = row_of(view, "wide")
    lines = [line for _, line in view.payload["places"][wide]]
    assert lines[:2] == [line_within(Net, "x = self.wide(x)"), line_within(Net, "self.wide = ")]
    run = view.payload["engine"]["runs"][0]
    tasks = [run["strings"][name] for name in run["ops"]["name"]]
    assert sorted(tasks) == sorted(view.payload["memory"]["graphs"][0]["steps"]["name"])
    computed = {row for piece in view.payload["pieces"] for row in piece["rows"]}
    assert {wide, row_of(view, "wide.act"), row_of(view, "∇ out")} <= computed


def test_selecting_from_python(example: Any) -> None:
    *_, view = example
    view.select("norm")
    assert view.selected == view.payload["graph"]["names"][row_of(view, "norm")]
    assert view.payload["memory"]["graphs"][0]["steps"]["name"][view.state["at"]] == view.selected
    with pytest.raises(MXNetError, match=r"nothing is named 'conv9'; the names are .*wide"):
        view.select("conv9")


def test_a_network_without_labels_predicts() -> None:
    net = Net()
    net.initialize()
    x = nd.array(np.arange(6).reshape(2, 3))
    view = Look(net, x, compile=False)
    assert view.payload["graph"]["direction"] == "forward"
    assert view.payload["missing"] == {"runs": "Omitted: compile=False."}
    close(view.payload["numbers"][row_of(view, "out")][0], net(x).asnumpy())


def test_values_that_are_not_finite_are_counted() -> None:
    x = nd.array([[1.0, float("nan"), 2.0], [float("inf"), 0.0, 0.0]])
    view = Look(lambda x: x * 2, x, compile=False)
    row = view.payload["numbers"][row_of(view, "mul_scalar")][0]
    assert row[:3] == [0.0, 4.0, 1.5] and row[5:7] == [1, 1]
    assert row[8] == [2.0, "nan", 4.0, "inf", 0.0, 0.0]
    view.to_json()  # JSON has neither NaN nor infinity


def test_the_picture_writes_values_with_three_digits() -> None:
    view = Look(lambda x: x * 1.0, nd.array([[1.23456, 0.0], [-98765.4, 4e-7]]), compile=False)
    view.choose(node=row_of(view, "mul_scalar"))
    text = view.svg()
    assert "-98800 … 1.23, mean -24700 ± 42800" in text
    assert "25% are 0, all finite" in text and "first values: 1.23, 0, -98800, 4e-07" in text


def test_the_picture_of_values_that_are_not_finite() -> None:
    view = Look(lambda x: x * 2, nd.array([float("nan"), float("-inf")]), compile=False)
    view.choose(node=row_of(view, "mul_scalar"))
    assert "no finite number" in view.svg() and "first values: nan, -inf" in view.svg()


@pytest.mark.parametrize(
    "array", [np.zeros((0,)), np.array(5), np.array([True, False]), np.full(3, np.nan)]
)
def test_numbers_of_any_array(array: np.ndarray) -> None:
    row = numbers(array)
    assert sum(row[7]) == (2 if array.dtype == bool else 0)
    assert row[5] == (3 if array.shape == (3,) else 0)


@pytest.mark.parametrize(
    "array",
    [
        np.random.default_rng(0).normal(size=20_000).astype("float32"),  # several blocks
        np.arange(256, dtype="uint8"),
        np.array([1e-320, 0.0]),
        np.full(100, 1e6 + 0.1, "float32"),
        np.array([2.0, -1.0, np.inf, np.nan], "float16"),
    ],
)
def test_numbers_are_those_of_numpy(array: np.ndarray) -> None:
    finite = array[np.isfinite(array)].astype("float64")
    low, high, mean, deviation, zeros, nans, infinities, bins, _ = numbers(array)
    expected = [finite.min(), finite.max(), finite.mean(), finite.std(), (finite == 0).mean()]
    for number, each in zip((low, high, mean, deviation, zeros), expected, strict=True):
        assert number == float(f"{each:.3g}")
    assert nans == np.isnan(array).sum() and infinities == np.isinf(array).sum()
    if finite.min() < finite.max():
        assert bins == np.histogram(finite, BINS, (finite.min(), finite.max()))[0].tolist()


def test_bins_count_every_finite_value() -> None:
    array = np.random.default_rng(0).normal(size=(50, 20)).astype("float32")
    assert sum(numbers(array)[7]) == 1000


# ---- symbols and files ----------------------------------------------------------------------------


def small_symbol() -> mx.sym.Symbol:
    return mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="fc")


def test_a_symbol_with_shapes_has_memory_and_no_numbers() -> None:
    view = Look(small_symbol(), data=(2, 3), compile=False)
    assert view.payload["memory"]["plans"][0]["total"] == 2 * 4 * 4
    assert view.payload["numbers"] is None
    missing = view.payload["missing"]["engine"]
    assert missing == (
        "Nothing ran: data, fc_weight, fc_bias have no array. Pass arrays by name: data=x."
    )


def test_statistics_do_not_count_in_the_times(monkeypatch: pytest.MonkeyPatch) -> None:
    events = []

    class Noted(EngineTimeline):
        def __enter__(self) -> EngineTimeline:
            events.append("begins")
            return super().__enter__()

    monkeypatch.setattr("mixnet.widgets.look.run.EngineTimeline", Noted)
    monkeypatch.setattr(
        "mixnet.widgets.look.run.numbers", lambda array: events.append("numbers") or numbers(array)
    )
    view = Look(lambda x: x * 2, nd.ones((3,)), compile=False)
    assert events == ["numbers", "numbers", "begins"]  # of x and of x * 2
    assert view.payload["numbers"][row_of(view, "mul_scalar")][0][2] == 2.0
    assert len(view.payload["engine"]["runs"][0]["ops"]["ran"]) == 1


def test_a_symbol_without_shapes_is_a_graph() -> None:
    view = Look(small_symbol())
    assert set(view.payload["missing"]) == {"engine", "memory", "runs"}
    assert view.state["at"] is None
    assert "slider" not in view.payload["sight"]["text"], "there is no peak to stand at"


def test_a_symbol_file_is_shown(tmp_path: Path) -> None:
    small_symbol().save(str(tmp_path / "s.json"))
    x, w, b = nd.ones((2, 3)), nd.array(np.arange(12).reshape(4, 3)), nd.zeros(4)
    view = Look(tmp_path / "s.json", data=x, fc_weight=w, fc_bias=b, compile=False)
    close(view.payload["numbers"][row_of(view, "fc")][0], x.asnumpy() @ w.asnumpy().T)
    assert "No source lines are known." in view.svg()


def test_arrays_of_numpy_are_taken_where_ndarrays_are() -> None:
    net = mx.gluon.nn.Dense(2)
    net.initialize()
    x = np.arange(6, dtype="float32").reshape(2, 3)
    symbol = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    for view in (mx.look(net, x), mx.look(symbol, data=x, fc_weight=x, fc_bias=x[0, :2])):
        p = view.payload
        first = p["graph"]["names"].index(p["memory"]["graphs"][0]["steps"]["name"][0])
        assert p["numbers"][first] is not None, "it ran"


def test_a_loop_that_draws_random_numbers_can_be_inspected() -> None:
    variables = [mx.sym.Variable("i"), mx.sym.Variable("s")]

    def turn(i: Any, s: Any) -> Any:
        return [], [i + 1, s + mx.sym.random.uniform(shape=(2,))]

    _, (_, s) = mx.sym.contrib.while_loop(
        lambda i, s: i < 3, turn, variables, max_iterations=5, name="loop"
    )
    block = mx.gluon.SymbolBlock(s, variables)
    view = mx.look(block, mx.nd.array([0]), mx.nd.array([1, 2]))
    assert view.payload["graph"]["names"][-1].startswith("_while_loop")
    assert view.payload["missing"] == {}


def test_an_onnx_file_is_shown(tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="needs onnx: pip install onnx")
    net = nn.Dense(4, in_units=3)
    net.initialize()
    x = nd.array(np.arange(6).reshape(2, 3))
    path = tmp_path / "net.onnx"
    symbol = net(mx.sym.var("data"))
    parameters = {name: each.data() for name, each in net.collect_params().items()}
    mx.onnx.export_model(symbol, parameters, [(2, 3)], "float32", str(path))
    view = Look(path, x, compile=False)
    assert view.payload["graph"]["title"] == "net.onnx"
    by_position = mx.look(path, np.ones((2, 3), "float32"))
    assert by_position.payload["numbers"][-1] is not None
    last = view.payload["graph"]["heads"][0]
    close(view.payload["numbers"][last][0], net(x).asnumpy())


def test_an_onnx_file_alone_runs_on_random_numbers(tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="needs onnx: pip install onnx")
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(
            nn.Embedding(5, 4), nn.Dense(3, in_units=8, activation="relu"), nn.Dense(2, in_units=3)
        )
    net.initialize()
    net(nd.zeros((1, 2)))
    path = tmp_path / "net.onnx"
    parameters = {name: each.data() for name, each in net.collect_params().items()}
    mx.onnx.export_model(net(mx.sym.var("words")), parameters, [(6, 2)], "int32", str(path))
    view = Look(path, compile=False)
    (note,) = view.payload["notes"]
    assert note == "words: random numbers in the file's shape; pass words=array for your own."
    rows = view.payload["numbers"]
    assert rows[row_of(view, "words")][0][:2] == [0, 0], "integers are zeros"
    expected = net(nd.zeros((6, 2))).asnumpy()
    close(rows[view.payload["graph"]["heads"][0]][0], expected)
    assert {"dense0.relu", "dense1"} <= set(view.payload["labels"].values())


def test_a_network_of_the_model_zoo_shows_its_own_lines() -> None:
    net = gluon.model_zoo.vision.squeezenet1_0()
    view = Look(net, (1, 3, 64, 64), run=False, compile=False)
    files = {each["file"]: dict(each["lines"]) for each in view.payload["source"]}
    assert any("self.output(" in text for text in files["classifier.py"].values())
    assert "mixnet/gluon/model_zoo/vision/classifier.py" in view.payload["graph"]["strings"]


# ---- functions ------------------------------------------------------------------------------------


def test_transformed_functions_of_jax_show_the_lines_that_were_written() -> None:
    def written(scale: Any, x: Any) -> Any:
        return jnp.sum(jnp.tanh(x) * scale)

    view = Look(jax.jit(jax.grad(partial(written, 2.0))), jnp.ones(3), compile=False)
    (file,) = view.payload["source"]
    assert file["file"] == Path(__file__).name
    assert [text.strip() for _, text in file["lines"]][1] == "return jnp.sum(jnp.tanh(x) * scale)"


def test_a_jax_function_is_shown() -> None:
    @jax.jit
    def layer(p: Any, x: Any) -> Any:
        return jnp.tanh(x @ p["w"] + p["b"])

    def model(params: Any, x: Any) -> Any:
        for p in params:
            x = layer(p, x)
        return jnp.sum(x * x)

    params = [{"w": jnp.full((8, 8), 0.1), "b": jnp.arange(8.0)} for _ in range(2)]
    x = jnp.linspace(-1, 1, 32).reshape(4, 8)
    view = Look(model, params, x)
    graph = view.payload["graph"]
    assert {"params.0.w", "params.1.b", "x", "layer0/dot_general0"} <= set(graph["names"])
    assert graph["nodes"]["flops"][row_of(view, "layer0/dot_general0")] == 2 * 4 * 8 * 8
    assert graph["nodes"]["flops"][row_of(view, "layer1/broadcast_in_dim0")] == 0
    assert graph["blocks"]["label"][:2] == ["layer0", "layer1"]
    last = view.payload["numbers"][graph["heads"][0]][0]
    np.testing.assert_allclose(last[0], model(params, x), rtol=1e-3)
    assert view.payload["memory"]["plans"][0]["total"] > 0 and view.payload["pieces"]
    lines = {line for place in view.payload["places"] for _, line in place}
    _, first = inspect.getsourcelines(test_a_jax_function_is_shown)
    assert first + 3 in lines, "x @ p['w'] + p['b']"


def test_a_jax_convolution_and_a_loop() -> None:
    def model(x: Any, k: Any) -> Any:
        y = jax.lax.conv_general_dilated(x, k, (1, 1), "SAME")
        return jax.lax.scan(lambda c, _: (c * 0.5 + y, None), y, None, length=3)[0]

    x, k = jnp.ones((1, 2, 5, 5)), jnp.ones((4, 2, 3, 3))
    view = Look(model, x, k, compile=False)
    flops = view.payload["graph"]["nodes"]["flops"]
    out = 4 * 5 * 5
    assert flops[row_of(view, "conv_general_dilated0")] == 2 * out * math.prod((2, 3, 3))
    assert flops[row_of(view, "scan0")] == 3 * 2 * out
    close(view.payload["numbers"][row_of(view, "scan0")][0], model(x, k))


def test_a_gradient_of_jax_with_constants_and_literals() -> None:
    table = np.arange(4.0, dtype="float32")
    view = Look(
        jax.grad(lambda x: jnp.sum(jax.nn.relu(x * table) ** 2)), jnp.ones(4), compile=False
    )
    heads = view.payload["graph"]["heads"]
    close(view.payload["numbers"][heads[0]][0], 2 * table * table)


def test_a_function_of_arrays() -> None:
    x = nd.array([[1.0, -2.0]])
    view = Look(lambda x: nd.relu(x * 3) + 1, x)
    close(view.payload["numbers"][view.payload["graph"]["heads"][0]][0], [[4.0, 1.0]])
    assert len({row for piece in view.payload["pieces"] for row in piece["rows"]}) == 3


def test_keys_of_jax_are_numbers() -> None:
    def draw(key: Any, x: Any) -> Any:
        return jax.random.normal(key, (3,)) + x

    key, x = jax.random.key(3), jnp.ones(3)
    view = Look(draw, key, x, compile=False)
    close(view.payload["numbers"][view.payload["graph"]["heads"][0]][0], draw(key, x))


def test_a_block_that_is_not_hybrid() -> None:
    class Plain(gluon.Block):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Dense(3, in_units=2)

        def forward(self, x: Any) -> Any:
            return self.inner(x) * 2

    net = Plain()
    net.initialize()
    x = nd.array([[1.0, 2.0]])
    view = Look(net, x, compile=False)
    close(view.payload["numbers"][view.payload["graph"]["heads"][0]][0], net(x).asnumpy())


def test_a_function_that_reads_a_value_is_several_programs() -> None:
    def reads(x: Any) -> Any:
        y = x * 2
        return y + 1 if float(y.sum().asscalar()) > 0 else y

    view = Look(reads, nd.ones((2, 3)))
    assert "2 programs run" in view.payload["missing"]["memory"]
    names = view.payload["graph"]["names"]
    computed = {
        names[row].partition("/")[0] for piece in view.payload["pieces"] for row in piece["rows"]
    }
    assert computed == {"segment0", "segment1"}


def test_a_recurrent_layer_with_its_states() -> None:
    layer = mx.gluon.rnn.LSTM(4, input_size=3)
    layer.initialize()
    x = nd.array(np.linspace(-1, 1, 30).reshape(5, 2, 3))
    view = Look(layer, x, layer.begin_state(2), compile=False)
    close(view.payload["numbers"][view.payload["graph"]["heads"][0]][0], layer(x).asnumpy())


def test_a_module_runs_on_its_parameters_and_the_shapes_it_is_bound_to() -> None:
    symbol = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    module = mx.mod.Module(mx.sym.SoftmaxOutput(symbol, name="softmax"))
    module.bind([("data", (4, 5))], [("softmax_label", (4,))])
    module.init_params(mx.init.Xavier())
    view = Look(module, compile=False)
    assert "data, softmax_label: random numbers in the shapes" in view.payload["notes"][-1]
    x = nd.array(np.linspace(-1, 1, 20).reshape(4, 5))
    view = Look(module, x, nd.zeros(4), compile=False)
    module.forward(mx.io.DataBatch([x], [nd.zeros(4)]), is_train=False)
    actual = view.payload["numbers"][view.payload["graph"]["heads"][0]][0]
    close(actual, module.get_outputs()[0].asnumpy())
    assert view.payload["notes"] == [] and view.payload["memory"] is not None


def test_a_network_without_values_has_a_graph_and_a_memory_plan() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(8, activation="relu"), nn.Dense(3))
    view = Look(net, nd.ones((2, 5)))
    assert view.payload["graph"]["names"] and view.payload["memory"]["plans"]
    for pane in ("engine", "runs"):
        assert "net.initialize()" in view.payload["missing"][pane]


def test_the_memory_of_a_loss_of_arrays_is_that_of_the_graph() -> None:
    def loss(scores: Any, label: Any) -> Any:  # it takes arrays and no symbols
        return -mx.nd.log(mx.nd.pick(mx.nd.softmax(scores), label))

    net = mx.gluon.nn.Dense(3, in_units=5)
    net.initialize()
    view = mx.look(net, mx.nd.ones((2, 5)), mx.nd.array([0, 1]), loss=loss, compile=False)
    assert set(view.payload["missing"]) == {"runs"}
    memory = view.payload["memory"]
    assert memory["train"] and [each["name"] for each in memory["plans"]][-1] == "both"
    steps = memory["graphs"][0]["steps"]["name"]
    assert len(steps) == 10 and set(steps) <= set(view.payload["graph"]["names"])


def test_the_reason_for_an_empty_pane_is_drawn_in_it() -> None:
    view = mx.look(mx.sym.tanh(mx.sym.var("x")), x=(2,))
    view.payload["missing"]["engine"] = "Nothing ran: " + "some words of a long reason " * 12
    lines = [n.text for n in ElementTree.fromstring(view.svg()).iter() if n.text]
    reasons = [each for each in lines if "long reason" in each]
    assert len(reasons) >= 3 and all(text_width(each, 11) <= 490 for each in reasons)


def test_row_sparse_gradients_leave_the_other_panes() -> None:
    net = nn.HybridSequential()
    net.add(nn.Embedding(50, 8, sparse_grad=True), nn.Dense(3))
    net.initialize()
    view = Look(net, nd.array([[1, 2, 3], [4, 5, 6]]), nd.zeros(2))
    assert "row-sparse gradients" in view.payload["missing"]["runs"]
    assert set(view.payload["missing"]) == {"runs"}


def test_functions_that_draw_random_numbers() -> None:
    """The stream that was recorded is a table of numbers, whose length depends on the draws."""
    view = Look(lambda x: nd.random.uniform(shape=(3,)) + nd.Dropout(x, mode="always"), nd.ones(3))
    ops = {
        view.payload["graph"]["strings"][op]
        for op in view.payload["graph"]["nodes"]["op"]
        if op >= 0
    }
    assert {"_random_uniform", "Dropout"} <= ops and view.payload["numbers"] is not None


class Loops(gluon.HybridBlock):
    def __init__(self) -> None:
        super().__init__()
        self.turn = nn.Dense(4, in_units=4)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        _, s = F.contrib.foreach(lambda d, s: (self.turn(d + s), s * 0.5 + d), x, F.zeros((3, 4)))
        s = F.contrib.cond(F.sum(s) > 0, lambda: s * 2, lambda: s - 1)
        _, (_, t) = F.contrib.while_loop(
            lambda i, t: i < 3,
            lambda i, t: (t, (i + 1, t * 1.1)),
            (F.zeros((1,)), s),
            max_iterations=4,
        )
        return t


def test_loops_and_branches_of_a_block() -> None:
    net = Loops()
    net.initialize()
    x = nd.array(np.linspace(-1, 1, 60).reshape(5, 3, 4))
    view = Look(net, x, compile=False)
    close(view.payload["numbers"][view.payload["graph"]["heads"][0]][-1], net(x).asnumpy())


# ---- errors ---------------------------------------------------------------------------------------


def test_an_error_of_forward_is_shown_once() -> None:
    class Wrong(gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return x + self.missing

    with pytest.raises(AttributeError, match="missing") as raised:
        Look(Wrong(), nd.ones(2))
    assert raised.value.__context__ is None
    with pytest.raises(AttributeTypeError, match=r"^hybridsequential\d+_? needs an input"):
        Look(nn.HybridSequential())


def test_wrong_targets_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        AttributeTypeError, match=r"look: int is not a network\. Pass a HybridBlock"
    ):
        Look(3)
    with pytest.raises(AttributeTypeError, match=r"'net\.pt' ends in \.pt; expected \.json"):
        Look("net.pt")
    with pytest.raises(
        AttributeTypeError,
        match=r"look: a symbol takes its inputs by name, such as .*, not a NDArray",
    ):
        Look(small_symbol(), nd.ones((2, 3)))
    with pytest.raises(AttributeTypeError, match="JAX cannot trace it"):
        Look(lambda x: x + "a", np.ones(2))
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(FileFormatError):
        Look(tmp_path / "bad.json")


def test_shapes_that_do_not_fit_leave_the_graph() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(4, in_units=3), nn.Dense(2, in_units=5))
    net.initialize()
    view = Look(net, (2, 3))
    assert view.payload["graph"]["error"] is not None
    assert "shapes do not match" in view.summary()
    for pane in ("memory", "runs"):
        assert "Shapes do not match" in view.payload["missing"][pane]


def test_an_operator_that_fails_leaves_the_other_panes() -> None:
    class Broken(mx.operator.CustomOp):
        def forward(self, is_train: Any, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
            raise ValueError("not today")

    @mx.operator.register("look_broken")
    class BrokenProp(mx.operator.CustomOpProp):
        def create_operator(self, *_: Any) -> Broken:
            return Broken()

    symbol = mx.sym.Custom(mx.sym.var("data"), op_type="look_broken", name="broken")
    view = Look(symbol, data=nd.ones((2, 2)), compile=False)
    assert "not today" in view.payload["missing"]["engine"]
    assert view.payload["memory"] is not None


def test_mx_look_is_the_view() -> None:
    view = mx.look(lambda x: x + 1, nd.ones(2), run=False, compile=False, title="one more")
    assert type(view) is Look and view.payload["graph"]["title"] == "one more"
    assert view.payload["engine"] is None and view.payload["pieces"] == []


def test_a_long_network_has_a_readable_picture() -> None:
    def chain(x: mx.nd.NDArray) -> mx.nd.NDArray:
        for _ in range(30):
            x = mx.nd.relu(x * 2)
        return x

    view = Look(chain, mx.nd.ones((2, 3)), compile=False)
    number = 40
    view.select(view.payload["graph"]["names"][number])
    drawn = view.svg()
    (part,) = re.findall(r'<svg y="\S+" width="(\S+)" height="\S+" viewBox="\S+ \S+ (\S+)', drawn)
    assert float(part[0]) / float(part[1]) > 0.6
    assert "of 61 boxes" in drawn
    graph = drawn[drawn.index("of 61 boxes") :]
    assert f">{Reader(view.payload['graph']).label(number)}<" in graph


class Events:
    """The events of a notebook's shell."""

    def __init__(self) -> None:
        self.callbacks: list[Any] = []

    def register(self, _name: str, function: Any) -> None:
        self.callbacks.append(function)

    def unregister(self, _name: str, function: Any) -> None:
        self.callbacks.remove(function)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Events, list[dict[str, Any]]]]:
    """The events of a shell, and the payloads that it is asked to show, one after the other."""
    pytest.importorskip("anywidget", reason="pip install 'mixnet[widgets]'")
    events, shown = Events(), []

    def show(data: dict[str, str], **_: object) -> None:
        packed = re.search(
            r'<script type="application/x-mixnet">([^<]+)</script>', data["text/html"]
        )
        assert packed
        shown.append(page.unpack(packed[1])["payload"])

    monkeypatch.setattr(live, "notebook_shell", lambda: SimpleNamespace(events=events))
    monkeypatch.delenv("VSCODE_PID", raising=False)
    monkeypatch.setattr("IPython.display.display", show)
    monkeypatch.setattr("IPython.display.update_display", show)
    yield events, shown


def test_a_notebook_shows_the_other_panes_before_it_compiles(notebook: Any) -> None:
    events, shown = notebook
    net = TwoLayers()
    net.initialize()
    view = Look(net, mx.nd.ones((4, 3)))
    view._ipython_display_()
    first, last = shown
    assert first["pieces"] == [] and "being compiled" in first["missing"]["runs"]
    assert last["pieces"] and "runs" not in last["missing"]
    assert last["graph"] == first["graph"] and last["numbers"] == first["numbers"]
    assert view.widget.payload == view.payload
    for each in list(events.callbacks):
        each()
    assert events.callbacks == [] and len(shown) == 2, "nothing is compiled again"


def test_a_look_in_a_notebook_is_complete_when_it_is_read_and_after_its_cell(notebook: Any) -> None:
    events, _ = notebook
    net = TwoLayers()
    net.initialize()
    assert Look(net, mx.nd.ones((4, 3))).payload["pieces"]
    view = Look(net, mx.nd.ones((4, 3)))
    assert view._payload["pieces"] == []
    for each in list(events.callbacks):
        each()
    assert view._payload["pieces"] and view._later is None


def test_an_interrupted_compilation_leaves_the_other_panes(
    notebook: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, shown = notebook
    net = TwoLayers()
    net.initialize()
    view = Look(net, mx.nd.ones((4, 3)))

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mixnet.widgets.look.view._pieces", interrupted)
    with pytest.raises(KeyboardInterrupt):
        view._ipython_display_()
    assert shown[-1]["missing"]["runs"] == "Not compiled: KeyboardInterrupt"
    assert view.payload["pieces"] == []
