"""Narrow gradients: the arrays that they read, and their values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import mixnet as mx
from mixnet.graph.graph import Graph
from mixnet.passes.facts import Facts
from mixnet.passes.narrow_gradients import NarrowBackwardOp, narrow_gradients
from mixnet.passes.training_graph import training_graph
from mixnet.runtime.compile.lower import lower
from tests.passes.planned import SPEC, graphs


@settings(max_examples=40, deadline=None)
@given(graphs(8))
def test_narrow_gradients_equal_the_full_ones(graph: Graph) -> None:
    whole = training_graph(graph, {"x0": "write", "x1": "write"}).graph
    narrow = narrow_gradients(whole, Facts(inputs=[SPEC] * len(whole.inputs)).specs(whole))
    arrays = [np.random.normal(size=SPEC[0]).astype(SPEC[1]) for _ in whole.inputs]
    for a, b in zip(lower(whole)(arrays), lower(narrow)(arrays), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def reads(symbol: mx.sym.Symbol, **shapes: tuple[int, ...]) -> dict[str, set[str]]:
    """Names of the nodes that each gradient node reads."""
    result = symbol.memory_plan(grad_req="write", **shapes)
    return {
        step.node.name: {entry.node.name for entry in step.node.inputs}
        for step in result.schedule.steps
        if isinstance(step.node.op, NarrowBackwardOp)
    }


@pytest.mark.parametrize("act_type", ["relu", "tanh", "sigmoid"])
def test_activations_read_their_output(act_type: str) -> None:
    a = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=4, name="fc")
    b = mx.sym.FullyConnected(mx.sym.Activation(a, act_type=act_type, name="act"), num_hidden=4)
    actual = reads(b, x=(2, 3))
    assert "act" in actual["act_backward"] and "fc" not in actual["act_backward"]
    assert actual["fc_backward"] == {"x", "fc_weight", "act_backward"} - {"act"}


def test_a_sum_reads_nothing_but_what_arrives() -> None:
    a = mx.sym.exp(mx.sym.Variable("x"), name="a")
    actual = reads(mx.sym.tanh(mx.sym.elemwise_add(a, a, name="sum"), name="t"), x=(2, 3))
    assert actual["sum_backward"] == {"t_backward"}
    assert "sum" not in actual["t_backward"]


def test_a_gradient_reads_an_input_that_is_live_anyway_rather_than_an_output() -> None:
    actual = reads(mx.sym.relu(mx.sym.Variable("x"), name="r"), x=(2, 3))
    assert actual["r_backward"] == {"gradient of output 0", "x"}


def test_dropout_draws_again_rather_than_keep_its_mask() -> None:
    a = mx.sym.exp(mx.sym.Variable("x"), name="a")
    actual = reads(mx.sym.Dropout(a, name="d"), x=(2, 3))
    assert actual["d_backward"] == {"gradient of output 0", "random key"}


def test_a_loss_head_reads_no_gradient() -> None:
    data = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=4, name="fc")
    actual = reads(mx.sym.SoftmaxOutput(data, name="s"), x=(2, 3))
    assert actual["s_backward"] == {"s", "s_label"}
