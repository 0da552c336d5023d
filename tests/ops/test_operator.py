"""The operator of a node is an Operator, with everything that a graph needs to know."""

import pytest

import mixnet as mx
from mixnet.graph.node import topological
from mixnet.ops.operator import Operator


def test_undeclared_facts_have_defaults():
    class Plain(Operator):
        name = "plain"

    op = Plain()
    assert (op.num_outputs(()), op.num_visible(()), op.num_residuals(())) == (1, 1, 0)
    assert op.keywords(()) == {} and op.output_names(()) == ("output",)
    assert op.written((), 2) == op.changed((), 2) == {}
    assert op.draws(()) == 0 and op.shared(()) == () and op.parties(()) is None
    assert op.backward_node(None, (), ()) is None and not op.names_rows(0)
    assert op.graph is None and op.forward is None and not op.calls_python
    with pytest.raises(NotImplementedError, match="does not run within a program"):
        op.apply((), ())


def test_every_node_of_a_tape_has_one():
    class Twice(mx.autograd.Function):
        def forward(self, x):
            return x * 2

        def backward(self, head):
            return head * 2

    net = mx.gluon.nn.Dense(2, in_units=2)
    net.initialize()
    net.hybridize()
    x = mx.nd.ones((1, 2))
    x.attach_grad()
    with mx.autograd.record():
        y = Twice()(net(x)) + 1
    nodes = [node for node in topological([y._read().node]) if node.op is not None]
    assert len(nodes) >= 3 and all(isinstance(node.op, Operator) for node in nodes)
