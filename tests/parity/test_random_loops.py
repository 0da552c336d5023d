"""Random numbers in loops and branches of hybridized blocks, against MXNet 1.9.1's."""

from __future__ import annotations

import json

import numpy as np

import mixnet as mx
from tests.each_record import each_record
from tests.parity.record_random_loops import FIXTURE, answer, cases, while_cases

ANSWERS = json.loads(FIXTURE.read_text())
CASES = {**cases(), **while_cases()}


@each_record("case", ANSWERS)
def test_loops_and_branches_draw_as_in_mxnet(case: str) -> None:
    actual = answer(mx, CASES[case], learns=case in cases())
    assert len(actual) == len(ANSWERS[case])
    for one, expected in zip(actual, ANSWERS[case], strict=True):
        np.testing.assert_allclose(one, expected, rtol=2e-5, atol=1e-6)


def test_a_while_loop_that_draws_and_makes_no_turn() -> None:
    class Net(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            out, state = F.contrib.while_loop(
                lambda i, s: i < 0,
                lambda i, s: (F.random.uniform(shape=(2,)) + s, (i + 1, s * 2)),
                (F.zeros((1,)), x),
                max_iterations=3,
            )
            return out, state[1]

    net = Net()
    net.hybridize()
    rows, state = net(mx.nd.array([1, 2]))
    assert rows.asnumpy().tolist() == [[0, 0]] * 3
    assert state.asnumpy().tolist() == [1, 2]


def test_a_while_loop_that_draws_has_gradients() -> None:
    class Net(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            out, state = F.contrib.while_loop(
                lambda i, s: i < 2,
                lambda i, s: (s * 1 + 0 * F.random.uniform(shape=(2,)), (i + 1, s * 2)),
                (F.zeros((1,)), x),
                max_iterations=3,
            )
            return out.sum() + state[1].sum()

    net = Net()
    net.hybridize()
    x = mx.nd.array([1, 2])
    x.attach_grad()
    with mx.autograd.record():
        y = net(x)
    y.backward()
    assert y.asscalar() == (1 + 2) * (1 + 2 + 4)
    assert x.grad.asnumpy().tolist() == [7, 7]
