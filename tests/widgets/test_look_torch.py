"""``mx.look`` of torch modules: graph, numbers, FLOPs and memory against torch itself."""

from __future__ import annotations

import inspect
import math
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet.base import AttributeTypeError
from mixnet.widgets import Look, View

torch = pytest.importorskip("torch", reason="modules of torch need it: pip install torch")


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(4, 4, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(4)

    def forward(self, x: Any) -> Any:
        return torch.relu_(x + self.norm(self.conv(x)))


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(3, 4, 3)
        self.blocks = torch.nn.Sequential(Block(), Block())
        self.drop = torch.nn.Dropout(0.5)
        self.out = torch.nn.Linear(4, 5)

    def forward(self, x: Any) -> Any:
        x = self.blocks(self.first(x))
        return self.out(self.drop(x.mean((2, 3))))


@pytest.fixture(scope="module")
def x() -> Any:
    return torch.arange(2 * 3 * 8 * 8, dtype=torch.float32).reshape(2, 3, 8, 8).cos()


def counted(module: Any, *inputs: Any) -> int:
    """Floating point operations of products by torch's own counter."""
    from torch.utils.flop_counter import FlopCounterMode

    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # of torch's flags
        with torch.backends.mkldnn.flags(enabled=False), FlopCounterMode(display=False) as counter:
            module(*inputs)
    return int(counter.get_total_flops())


def flops_of(view: Look, *operators: str) -> int:
    nodes, strings = view.payload["graph"]["nodes"], view.payload["graph"]["strings"]
    return sum(
        f
        for op, f in zip(nodes["op"], nodes["flops"], strict=True)
        if op >= 0 and strings[op] in operators
    )


def row(view: Look, label: str) -> int:
    (name,) = [name for name, each in view.payload["labels"].items() if each == label]
    return view.payload["graph"]["names"].index(name)


def shape(view: Look, number: int) -> list[int]:
    graph = view.payload["graph"]
    return graph["specs"][graph["outs"][graph["nodes"]["outputs"][number]][0]][0]


def test_a_convolutional_network_is_shown(x: Any) -> None:
    torch.manual_seed(3)
    net = Net().eval()
    view = mx.look(net, x)
    p = view.payload
    assert p["missing"].keys() == {"runs"} and "torch.compile" in p["missing"]["runs"]
    labels = set(p["labels"].values())
    assert {"first", "first.weight", "blocks.0.conv", "blocks.1.norm.running_mean", "out"} <= labels
    blocks = {
        (label, p["graph"]["strings"][kind])
        for label, kind in zip(
            p["graph"]["blocks"]["label"], p["graph"]["blocks"]["kind"], strict=True
        )
    }
    assert {("blocks", "Sequential"), ("0", "Block"), ("1", "Block")} <= blocks
    # Numbers are torch's, also on the way.
    with torch.no_grad():
        first, out = net.first(x).numpy(), net(x).numpy()
    for label, truth in (("first", first), ("out", out)):
        low, high, mean, deviation, *_ = p["numbers"][row(view, label)][0]
        expected = [truth.min(), truth.max(), truth.mean(), truth.std()]
        np.testing.assert_allclose([low, high, mean, deviation], expected, rtol=5.1e-3, atol=1e-4)
    np.testing.assert_allclose(p["numbers"][row(view, "out")][0][8], out.ravel()[:6], rtol=5.1e-3)
    assert flops_of(view, "conv2d", "linear") == counted(net, x)
    assert shape(view, row(view, "first")) == [2, 4, 6, 6]
    # The lines that the user wrote, in the innermost module.
    lines, begin = inspect.getsourcelines(Block)
    reference = begin + next(i for i, text in enumerate(lines) if "torch.relu_" in text)
    assert [place[1] for place in p["places"][row(view, "blocks.0.conv")]] == [reference]
    text = [line for each in p["source"] for _, line in each["lines"]]
    assert any("return self.out(self.drop" in line for line in text)


def test_memory_of_views_and_of_what_is_computed_in_place() -> None:
    class Ways(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            y = x.sin().reshape(8, 4)  # its elements are those of sin: no memory of its own
            return y.exp().softmax(1)

    view = mx.look(Ways(), torch.ones(4, 8))
    totals = {plan["name"]: plan["total"] for plan in view.payload["memory"]["plans"]}
    size = 4 * 8 * 4
    assert totals["none"] == 4 * size, "every array for itself"
    assert totals["inplace"] == 2 * size, (
        "reshape and exp lie where sin lay; softmax reads whole rows"
    )


def test_parameters_are_what_torch_says(x: Any) -> None:
    net = Net().eval()
    graph = mx.look(net, x, run=False).payload["graph"]
    weights = [n for n, part in enumerate(graph["nodes"]["part"]) if part == 3]
    size = sum(
        graph["specs"][k][2] for n in weights for k in graph["outs"][graph["nodes"]["outputs"][n]]
    )
    # Not used in eval mode.
    buffers = [b for name, b in net.named_buffers() if "num_batches" not in name]
    assert size == sum(4 * each.numel() for each in (*net.parameters(), *buffers))


def test_training_changes_nothing_of_the_module(x: Any) -> None:
    net = Net().train()
    before = {name: each.clone() for name, each in net.state_dict().items()}
    seed = torch.random.get_rng_state()
    view = mx.look(net, x)
    assert view.payload["missing"].keys() == {"runs"}
    names = set(view.payload["graph"]["strings"])
    assert "native_dropout" in names and "_native_batch_norm_legit_functional" in names
    assert net.training and torch.equal(seed, torch.random.get_rng_state())
    assert all(torch.equal(each, before[name]) for name, each in net.state_dict().items())
    assert all(each.grad is None for each in net.parameters())


def test_an_lstm_is_shown() -> None:
    net, x = torch.nn.LSTM(3, 4), torch.ones(5, 2, 3)
    view = mx.look(net, x)
    out, (state, cell) = net(x)
    outputs = view.payload["graph"]["heads"]
    assert len(outputs) == 3
    (number,) = set(outputs)
    actual = view.payload["numbers"][number]
    for each, truth in zip(actual, (out, state, cell), strict=True):
        np.testing.assert_allclose(each[2], truth.mean().item(), rtol=5.1e-3)
    # Four gates of each step: products of 3 and of 4 numbers.
    assert flops_of(view, "lstm") == counted(net, x) == 2 * 5 * 2 * 16 * (3 + 4)


def test_a_transformer_layer_is_shown() -> None:
    net = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
    net.requires_grad_(False)
    x = torch.ones(2, 5, 16)
    view = mx.look(net, x, title="encoder")
    assert view.payload["graph"]["title"] == "encoder"
    labels = set(view.payload["labels"].values())
    assert {"self_attn.scaled_dot_product_attention", "linear1", "norm2.weight"} <= labels
    products = flops_of(view, "linear", "scaled_dot_product_attention")
    tokens, width, hidden = 10, 16, 32
    attention = 2 * 2 * (2 * 2 * 5 * 5 * 8)  # two products for each of 2 samples and 2 heads
    assert products == 2 * tokens * width * (4 * width + 2 * hidden) + attention
    # A layer that predicts without gradients runs as one fused operator of torch: the same numbers.
    last = view.payload["numbers"][row(view, "norm2")][0]
    np.testing.assert_allclose(last[8], net(x).ravel()[:6].numpy(), rtol=5.1e-3, atol=1e-4)


def test_inputs_by_name_trees_and_arrays() -> None:
    class Two(torch.nn.Module):
        def forward(self, pair: Any, scale: Any = None) -> Any:
            return {"sum": (pair["a"] + pair["b"]) * scale}

    pair = {"a": torch.ones(2, 3), "b": torch.full((2, 3), 2.0)}
    view = mx.look(Two(), pair, scale=torch.tensor(4.0))
    assert view.payload["numbers"][view.payload["graph"]["heads"][0]][0][0] == 12
    layer = torch.nn.Linear(3, 1)
    for array in (mx.nd.ones((2, 3)), np.ones((2, 3), "float32")):
        assert mx.look(layer, array).payload["missing"].keys() == {"runs"}


def test_half_precision_is_shown() -> None:
    layer = torch.nn.Linear(2, 2).to(torch.bfloat16)
    view = mx.look(layer, torch.ones(1, 2, dtype=torch.bfloat16))
    assert "bfloat16" in {spec[1] for spec in view.payload["graph"]["specs"]}
    truth = layer(torch.ones(1, 2, dtype=torch.bfloat16)).detach().float().numpy()
    np.testing.assert_allclose(
        view.payload["numbers"][row_of_output(view)][0][8], truth.ravel(), rtol=1e-2
    )


def row_of_output(view: Look) -> int:
    return view.payload["graph"]["heads"][0]


def test_the_page_needs_no_torch(x: Any) -> None:
    view = mx.look(Net().eval(), x)
    again = View.of(view.payload, view.state)
    assert again.svg() == view.svg() and "torch" not in sys.modules["mixnet.widgets.page"].__dict__
    view.select("blocks.1.conv")
    assert view.selected == "blocks/1/conv/fwd"
    assert math.isfinite(view.payload["engine"]["runs"][0]["span"])


# ---- what it does not take ------------------------------------------------------------------------


def test_a_branch_on_a_value() -> None:
    class Branches(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x if x.sum() > 0 else -x

    with pytest.raises(
        AttributeTypeError, match=r"cannot take Branches .*torch\.where or torch\.cond"
    ):
        mx.look(Branches(), torch.ones(2))


def test_control_flow_of_torch() -> None:
    class Either(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.cond(x.sum() > 0, lambda a: a + 1, lambda a: a - 1, (x,))

    with pytest.raises(AttributeTypeError, match="control flow or a call of another program"):
        mx.look(Either(), torch.ones(2))


def test_inputs_that_do_not_fit(x: Any) -> None:
    with pytest.raises(
        AttributeTypeError,
        match=r"missing a required argument: 'x'\. Pass the tensors that it is called with\.",
    ):
        mx.look(Net())
    with pytest.raises(AttributeTypeError, match="cannot take Net with these inputs: RuntimeError"):
        mx.look(Net(), torch.ones(2, 2))
    with pytest.raises(
        AttributeTypeError, match=r"omit train= and loss=, and call module\.train\(\)"
    ):
        mx.look(Net(), x, train=True)


def test_a_torch_without_export(x: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.export", None)
    with pytest.raises(AttributeTypeError, match=r"pip install 'torch>=2\.6'"):
        mx.look(Net(), x)
