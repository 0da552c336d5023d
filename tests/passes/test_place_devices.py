"""Model parallelism: a graph on several devices has the results of one device."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mixnet as mx
from mixnet.base import AttributeTypeError, MXNetError
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ops import find
from mixnet.passes.place_devices import COPY, place_devices
from mixnet.symbol.symbol import Symbol
from tests import processes
from tests.passes.programs import ARRAYS, SHAPE, apply, graphs

GROUPS = {"a": mx.cpu(1), "b": mx.cpu(2)}


def scope(group: str) -> mx.AttrScope:
    return mx.AttrScope(ctx_group=group)


def contexts(arrays: dict) -> dict[str, str]:
    return {name: str(each.context) for name, each in arrays.items() if each is not None}


def copies(executor: mx.executor.Executor) -> list[str]:
    nodes = executor.placed_graph(True).to_dict()["nodes"]
    return [node["name"] for node in nodes if node["op"] == "_CrossDeviceCopy"]


# What runs where, and the copies' names, as executors of MXNet 1.9.1 tell it.


def test_a_node_without_group_runs_where_its_first_input_is() -> None:
    with scope("a"):
        a = mx.sym.Variable("a")
    with scope("b"):
        b = mx.sym.Variable("b")
    meet = mx.sym.elemwise_add(mx.sym.exp(a, name="x"), mx.sym.exp(b, name="y"), name="meet")
    last = mx.sym.elemwise_add(mx.sym.Variable("c"), meet, name="last")
    executor = last.simple_bind(mx.cpu(0), group2ctx=GROUPS, a=(2,), b=(2,), c=(2,))
    expected = {"a": "cpu(1)", "b": "cpu(2)", "c": "cpu(0)"}
    assert contexts(executor.arg_dict) == contexts(executor.grad_dict) == expected
    assert copies(executor) == ["y_0_copy", "meet_0_copy"]
    (output,) = executor.forward(is_train=True)
    assert output.context is mx.cpu(0)
    executor.backward(mx.nd.ones((2,)))
    np.testing.assert_array_equal(executor.grad_dict["a"].asnumpy(), 1)
    assert contexts(executor.grad_dict) == expected


def test_outputs_stay_where_they_were_computed() -> None:
    y = mx.sym.exp(mx.sym.Variable("x"), name="y")
    with scope("b"):
        n = mx.sym.sqrt(mx.sym.exp(y, name="z"), name="n")
    both = mx.sym.Group([n, mx.sym.sqrt(y, name="m")])
    executor = both.simple_bind(mx.cpu(0), group2ctx=GROUPS, x=(2,))
    outputs = executor.forward(is_train=True)
    assert [str(each.context) for each in outputs] == ["cpu(2)", "cpu(0)"]
    executor.backward([mx.nd.ones((2,)), mx.nd.ones((2,))])  # brought to the outputs' devices
    x = np.zeros(2)
    # d sqrt(exp(exp x)) + d sqrt(exp x) at 0
    expected = 0.5 * np.exp(0.5 * np.exp(x)) * np.exp(x) + 0.5 * np.exp(0.5 * x)
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), expected, rtol=1e-6)
    assert executor.grad_dict["x"].context is mx.cpu(0)


def test_operators_without_inputs_run_on_the_device_of_their_reader() -> None:
    zeros = mx.sym.zeros(shape=(2,), name="z")
    with scope("a"):
        n = mx.sym.elemwise_add(mx.sym.Variable("w"), zeros, name="n")
    executor = n.simple_bind(mx.cpu(0), group2ctx=GROUPS, w=(2,))
    assert copies(executor) == []
    assert executor.forward()[0].context is mx.cpu(1)


def test_a_graph_without_groups_is_not_placed() -> None:
    with scope("a"):
        n = mx.sym.exp(mx.sym.Variable("w"), name="n")
    for groups in (None, {}):
        executor = n.simple_bind(mx.cpu(0), group2ctx=groups, w=(2,))
        assert executor.forward()[0].context is mx.cpu(0)


def test_wrong_groups_and_arrays_are_errors() -> None:
    with scope("a"):
        n = mx.sym.exp(mx.sym.Variable("w"), name="n")
    with pytest.raises(MXNetError, match=r"group 'a'.*it has 'b'"):
        n.simple_bind(mx.cpu(0), group2ctx={"b": mx.cpu(1)}, w=(2,))
    for wrong in ([mx.cpu(1)], {"a": "cpu(1)"}, {"a": [mx.cpu(1)]}):
        with pytest.raises(AttributeTypeError, match="must be a dict from names of groups"):
            n.simple_bind(mx.cpu(0), group2ctx=wrong, w=(2,))


def test_arrays_on_other_devices_are_copied_and_their_gradients_copied_back() -> None:
    # MXNet refuses these: a weight shared by groups, and an array on another device than its group
    w = mx.sym.Variable("w")
    with scope("a"):
        n = mx.sym.exp(w, name="n")
    with scope("b"):
        m = mx.sym.elemwise_mul(w, n, name="m")
    weight, gradient = mx.nd.array([0.5, 1.0]), mx.nd.zeros((2,))
    executor = m.bind(mx.cpu(0), {"w": weight}, {"w": gradient}, group2ctx=GROUPS)
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((2,)))
    x = weight.asnumpy()
    np.testing.assert_allclose(gradient.asnumpy(), np.exp(x) * (1 + x), rtol=1e-6)
    assert sorted(copies(executor)) == ["n_0_copy", "w_0_copy", "w_0_copy"]


def test_one_copy_for_all_readers_of_a_device() -> None:
    with scope("a"):
        n = mx.sym.exp(mx.sym.Variable("x"), name="n")
    with scope("b"):
        m = mx.sym.elemwise_add(mx.sym.sin(n), mx.sym.cos(n))
    executor = m.simple_bind(mx.cpu(0), group2ctx=GROUPS, x=(2,))
    assert copies(executor) == ["n_0_copy"]
    assert executor.placed_graph(True).to_dict()["parts"] == ["cpu(1)", "cpu(2)"]


def test_states_and_random_numbers_live_on_other_devices() -> None:
    with scope("a"):
        n = mx.sym.BatchNorm(mx.sym.Variable("x"), name="bn", fix_gamma=False)
    with scope("b"):
        n = mx.sym.Dropout(n, p=0.5, name="drop")
    executor = n.simple_bind(mx.cpu(0), group2ctx=GROUPS, x=(64, 3))
    x = np.random.default_rng(0).normal(size=(64, 3)).astype(np.float32)
    executor.arg_dict["bn_gamma"][:] = 1
    (output,) = executor.forward(is_train=True, x=x)
    mean = executor.aux_dict["bn_moving_mean"]
    assert mean.context is mx.cpu(1)
    np.testing.assert_allclose(mean.asnumpy(), 0.1 * x.mean(0), rtol=1e-4)
    share = (output.asnumpy() != 0).mean()
    assert 0.3 < share < 0.7
    executor.backward(mx.nd.ones((64, 3)))
    beta = executor.grad_dict["bn_beta"].asnumpy()
    np.testing.assert_allclose(beta, 2 * (output.asnumpy() != 0).sum(0), rtol=1e-5)


def test_placed_graphs_reshape_and_are_monitored() -> None:
    with scope("a"):
        n = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=3, name="fc")
    executor = n.simple_bind(mx.cpu(0), group2ctx=GROUPS, x=(2, 4))
    larger = executor.reshape(allow_up_sizing=True, x=(5, 4))
    outputs: list[str] = []
    larger.set_monitor_callback(lambda name, array: outputs.append(f"{name}@{array.context}"))
    assert larger.forward()[0].context is mx.cpu(1)
    assert outputs == ["fc_output@cpu(1)"]


def test_a_copy_is_recorded() -> None:
    x = mx.nd.array([1.0, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        y = ((x * 3).as_in_context(mx.cpu(1)) * 2).copyto(mx.cpu(0))
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), 6)  # as in MXNet
    with mx.autograd.record():
        y = (x**3).as_in_context(mx.cpu(1)) * 2
        (first,) = mx.autograd.grad(y, [x], create_graph=True)
    assert first.context is mx.cpu(0)
    first.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 12 * x.asnumpy(), rtol=1e-6)


@settings(max_examples=15, deadline=None)
@given(graphs(), st.data())
def test_random_graphs_on_random_devices_compute_the_same(
    graph: Graph, data: st.DataObject
) -> None:
    """Values and gradients are those of one device."""
    for i, node in enumerate(graph.nodes):
        node.name = f"{node.name}{i}"
        group = data.draw(st.sampled_from([None, "a", "b"]))
        node.attrs = {} if group is None or node.is_variable else {"__ctx_group__": group}
    symbol = Symbol(_without_draws(graph).heads)
    names = symbol.list_arguments()
    position = {node.name: i for i, node in enumerate(graph.inputs)}
    results = []
    for groups in (None, GROUPS):
        arrays = {name: mx.nd.array(ARRAYS[position[name]]) for name in names}
        grads = {name: mx.nd.zeros(SHAPE) for name in names}
        executor = symbol.bind(mx.cpu(0), arrays, grads, group2ctx=groups)
        outputs = executor.forward(is_train=True)
        executor.backward([mx.nd.ones(each.shape, dtype=each.dtype) for each in outputs])
        results.append([each.asnumpy() for each in (*outputs, *grads.values())])
    for one, several in zip(*results, strict=True):
        np.testing.assert_allclose(several, one, rtol=1e-6, atol=1e-6)


def _without_draws(graph: Graph) -> Graph:
    """Other operations in place of the random ones: devices have random numbers of their own."""

    def change(node: Node, inputs: tuple[Entry, ...]) -> Node:
        if not node.op.takes_key:
            return node.replaced(inputs)
        return Node(find("sin"), (), (), inputs[:1], node.name, node.attrs)

    return graph.rebuild(change)


def lstm(layers: int, steps: int, hidden: int, grouped: bool) -> Symbol:
    """An unrolled LSTM, a group for each layer."""
    outputs = [mx.sym.Variable(f"t{t}") for t in range(steps)]
    for layer in range(layers):
        with mx.AttrScope(**({"ctx_group": f"layer{layer}"} if grouped else {})):
            name = f"l{layer}"
            names = ("i2h_weight", "i2h_bias", "h2h_weight", "h2h_bias")
            iw, ib, hw, hb = (mx.sym.Variable(f"{name}_{each}") for each in names)
            h, c = mx.sym.Variable(f"{name}_h"), mx.sym.Variable(f"{name}_c")
            for t in range(steps):
                gates = mx.sym.FullyConnected(
                    outputs[t], iw, ib, num_hidden=4 * hidden, name=f"{name}_i{t}"
                ) + mx.sym.FullyConnected(h, hw, hb, num_hidden=4 * hidden, name=f"{name}_h{t}")
                parts = mx.sym.SliceChannel(gates, num_outputs=4, name=f"{name}_gates{t}")
                i, f, o = (mx.sym.Activation(parts[k], act_type="sigmoid") for k in (0, 1, 3))
                c = f * c + i * mx.sym.Activation(parts[2], act_type="tanh")
                h = o * mx.sym.Activation(c, act_type="tanh")
                outputs[t] = h
    return mx.sym.Group(outputs)


def run_lstm(grouped: bool, layers: int = 4, steps: int = 3) -> tuple[list[np.ndarray], object]:
    """Outputs and gradients of an LSTM, and its executor."""
    hidden, batch = 5, 2
    symbol = lstm(layers, steps, hidden, grouped)
    shapes = {f"t{t}": (batch, hidden) for t in range(steps)}
    shapes |= {f"l{n}_{s}": (batch, hidden) for n in range(layers) for s in "hc"}
    groups = {f"layer{n}": mx.cpu(n) for n in range(layers)} if grouped else None
    executor = symbol.simple_bind(mx.cpu(0), group2ctx=groups, **shapes)
    for name in sorted(executor.arg_dict):
        generator = np.random.default_rng(sum(map(ord, name)))
        shape = executor.arg_dict[name].shape
        executor.arg_dict[name][:] = generator.normal(size=shape) * 0.5
    outputs = executor.forward(is_train=True)
    executor.backward([mx.nd.ones(each.shape) for each in outputs])
    results = [*outputs, *[executor.grad_dict[name] for name in sorted(executor.grad_dict)]]
    return [each.asnumpy() for each in results], executor


def check_lstm() -> None:
    """Raise unless an LSTM over four devices computes what it does on one."""
    one, _ = run_lstm(False)
    four, executor = run_lstm(True)
    for expected, actual in zip(one, four, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)
        assert np.abs(actual).max() > 0
    placed = executor.placed_graph(True).to_dict()
    assert placed["parts"] == [f"cpu({n})" for n in range(4)]
    crossing = [node for node in placed["nodes"] if node["op"] == "_CrossDeviceCopy"]
    assert len(crossing) == 3 * 3  # between two layers one for each step
    assert {node["device"] for node in crossing} == {"cpu(1)", "cpu(2)", "cpu(3)"}
    for n in range(4):
        for array in (executor.arg_dict, executor.grad_dict):
            value = array[f"l{n}_i2h_weight"]
            assert value.context is mx.cpu(n)
            assert value._read().array.devices() == {mx.cpu(n).device}


def test_an_lstm_over_four_contexts_computes_the_same() -> None:
    check_lstm()


def test_an_lstm_over_four_devices_computes_the_same() -> None:
    code = (
        "import jax; from tests.passes.test_place_devices import check_lstm; check_lstm();"
        "assert len(jax.local_devices()) == 4"
    )
    root = Path(__file__).parents[2]
    environment = {**os.environ, "MIXNET_CPU_DEVICES": "4", "PYTHONPATH": str(root)}
    done = processes.run(
        [sys.executable, "-c", code],
        env=environment,
        cwd=root,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr


def test_a_chain_of_10000_operations_is_placed() -> None:
    head = x = Entry(Node(None, name="x"))
    for i in range(10_000):
        head = apply("tanh", head)
        head.node.attrs = {"__ctx_group__": "ab"[i // 100 % 2]}
    placement = place_devices(Graph((head,), (x.node,)), GROUPS, mx.cpu(0), [mx.cpu(0)])
    assert len(placement.parts) == 100
    assert sum(node.op is COPY for node in placement.graph.nodes) == 100
