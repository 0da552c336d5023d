"""Equal graphs share an operator, and thus a program."""

from __future__ import annotations

import mixnet as mx
from mixnet.runtime.trace.graph_op import LARGE, graph_op


def graph(number: float = 2.0, name: str = "y", statics: int = 1):
    with mx.name.NameManager():
        x = mx.sym.Variable("x")
        return mx.sym.sum(x * number, axis=statics, name=name).graph


def test_equal_graphs_share_an_operator() -> None:
    assert graph_op(graph(), "g") is graph_op(graph(), "g")


def test_different_graphs_do_not_share_an_operator() -> None:
    first = graph_op(graph(), "g")
    others = [
        graph_op(graph(3.0), "g"),
        graph_op(graph(name="z"), "g"),
        graph_op(graph(statics=0), "g"),
        graph_op(graph(), "h"),
        graph_op(graph(), "g", "mirror"),
        graph_op(graph(-0.0), "g"),
        graph_op(graph(0.0), "g"),
    ]
    assert len({id(each) for each in (first, *others)}) == len(others) + 1


def test_evaluating_in_a_loop_compiles_nothing_new() -> None:
    x = mx.sym.Variable("a")
    y = mx.sym.exp(mx.sym.dot(x, x)) * 3
    a = mx.nd.ones((7, 7))
    results = [y.eval(ctx=mx.cpu(), a=a)[0].asnumpy() for _ in range(3)]
    mx.runtime.reset_counters()
    for _ in range(5):
        results.append(y.eval(ctx=mx.cpu(), a=a)[0].asnumpy())
    assert mx.runtime.counters()["programs_compiled"] == 0
    assert all((each == results[0]).all() for each in results)


def test_graphs_that_call_python_are_not_shared() -> None:
    @mx.operator.register("doubles_for_graph_op")
    class DoublesProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return mx.operator.CustomOp()

    y = mx.sym.Custom(mx.sym.Variable("x"), op_type="doubles_for_graph_op", name="c")
    assert graph_op(y.graph, "g") is not graph_op(y.graph, "g")


def test_the_random_input_of_a_large_graph_is_a_separate_program() -> None:
    def call(layers: int) -> dict[str, int]:
        net = mx.gluon.nn.HybridSequential()
        net.add(*[mx.gluon.nn.Activation("relu") for _ in range(layers)])
        net.hybridize()
        net(mx.nd.zeros((2,))).wait_to_read()
        mx.runtime.reset_counters()
        net(mx.nd.random.uniform(shape=(2,)) * 2).wait_to_read()
        flushes: dict[str, int] = mx.runtime.counters()["flushes"]
        return flushes

    assert call(LARGE) == {"before a large graph": 1, "wait_to_read": 1}
    assert call(3) == {"wait_to_read": 1}
