"""Executed plans: in one arena every graph gives the same bits as with separate memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mixnet as mx
from mixnet.base import ShapeError
from mixnet.graph.graph import Graph
from mixnet.passes.plan_memory import MemoryPlan, plan_memory
from mixnet.passes.training_graph import training_graph
from tests.passes.planned import SPEC, graphs
from tests.runtime.arena import run_in_arena

NETS = Path(__file__).parents[1] / "parity" / "fixtures" / "nets"
WAYS = [(False, False), (True, False), (False, True), (True, True)]


def values(plan: MemoryPlan) -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    result = {}
    for array in plan.arrays:
        if array.name in {node.name for node in plan.schedule.graph.inputs}:
            weight = "weight" in array.name
            drawn = random.uniform(*(-0.05, 0.05) if weight else (0.1, 1), array.shape)
            result[array.name] = drawn.astype(array.dtype)
    return result


@settings(max_examples=30, deadline=None)
@given(graphs(), st.sampled_from(WAYS), st.booleans())
def test_random_graphs(graph: Graph, ways: tuple[bool, bool], training: bool) -> None:
    if training:
        graph = training_graph(graph, {"x0": "write", "x1": "add"}).graph
    plan = plan_memory(graph, [SPEC] * len(graph.inputs), *ways)
    arrays = values(plan)
    in_arena, separate = run_in_arena(plan, arrays), run_in_arena(plan, arrays, separate=True)
    for a, b in zip(in_arena, separate, strict=True):
        assert a.tobytes() == b.tobytes()
        assert np.isfinite(a).all()


def test_overlapping_arrays_change_the_result() -> None:
    a = mx.sym.exp(mx.sym.Variable("x"), name="a")
    plan = mx.sym.elemwise_add(mx.sym.transpose(a), a).memory_plan(x=(4, 4))
    for storage in plan.storages:
        for array in storage.arrays:
            array.offset = 0
    x = {"x": np.random.normal(size=(4, 4)).astype("float32")}
    assert (run_in_arena(plan, x)[0] != run_in_arena(plan, x, separate=True)[0]).any()


@pytest.mark.parametrize("grad_req", ["null", "write"])
@pytest.mark.parametrize(
    ("name", "size"),
    [("alexnet", 67), ("googlenet", 64), ("vgg16", 32), ("resnet50", 32), ("inception-bn", 224)],
)
def test_networks(name: str, size: int, grad_req: str) -> None:
    symbol = mx.sym.load(NETS / f"{name}-symbol.json")
    plan = symbol.memory_plan(grad_req=grad_req, data=(1, 3, size, size))
    arrays = values(plan)
    in_arena, separate = run_in_arena(plan, arrays), run_in_arena(plan, arrays, separate=True)
    for a, b in zip(in_arena, separate, strict=True):
        assert a.tobytes() == b.tobytes()
    assert np.isfinite(in_arena[0]).all() and in_arena[0].sum() == pytest.approx(1, rel=1e-4)


def test_gradients_are_those_of_the_executor() -> None:
    data = mx.sym.Variable("data")
    net = mx.sym.Activation(mx.sym.Convolution(data, kernel=(3, 3), num_filter=4), act_type="relu")
    net = mx.sym.Pooling(mx.sym.BatchNorm(net, fix_gamma=False), kernel=(2, 2), stride=(2, 2))
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=3), name="softmax")
    executor = net.simple_bind(data=(2, 3, 8, 8))
    plan = executor.memory_plan()
    arrays = values(plan)
    for name, array in {**executor.arg_dict, **executor.aux_dict}.items():
        array[:] = arrays[name]
    actual = run_in_arena(plan, arrays)
    outputs = executor.forward(is_train=True)
    executor.backward()
    np.testing.assert_allclose(actual[0], outputs[0].asnumpy(), rtol=1e-5)
    states = actual[1:3]
    for state, array in zip(states, executor.aux_arrays, strict=True):
        np.testing.assert_allclose(state, array.asnumpy(), rtol=1e-5)
    for gradient, array in zip(actual[3:], executor.grad_arrays, strict=True):
        np.testing.assert_allclose(gradient, array.asnumpy(), rtol=1e-3, atol=1e-5)


def test_inputs_must_fit() -> None:
    plan = mx.sym.exp(mx.sym.Variable("x")).memory_plan(x=(4, 4))
    with pytest.raises(ShapeError, match=r"input 'x' of float32\[4, 4\], but got nothing"):
        run_in_arena(plan, {})
    with pytest.raises(ShapeError, match=r"but got float32\[3\]"):
        run_in_arena(plan, {"x": np.zeros(3, "float32")})
