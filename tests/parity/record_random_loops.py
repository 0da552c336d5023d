"""Record the draws of MXNet 1.9.1 in loops and branches of hybridized blocks.

Run it with an interpreter that has mxnet 1.9.1::

    python tests/parity/record_random_loops.py

``fixtures/random_loops.json`` has, for each case, the outputs, the gradient of the input, and two numbers
that are drawn afterwards.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FIXTURE = Path(__file__).parent / "fixtures" / "random_loops.json"


def cases() -> dict[str, Any]:
    """Bodies of ``hybrid_forward(F, x)`` for an array of shape (4, 3)."""

    def dropout(F: Any, x: Any) -> Any:
        x = F.Dropout(x, p=0.3)
        out, _ = F.contrib.foreach(
            lambda row, s: (F.Dropout(row + s, p=0.5), s + 1), x, F.zeros((3,))
        )
        return F.Dropout(out, p=0.3)

    def dropped_state(F: Any, x: Any) -> Any:
        return F.contrib.foreach(lambda row, s: (s, F.Dropout(row + s, p=0.5)), x, F.zeros((3,)))[1]

    def noise(F: Any, x: Any) -> Any:
        return F.contrib.foreach(
            lambda row, s: (row + F.random.normal(0, 1, shape=(3,)), s), x, F.zeros((3,))
        )[0]

    def noise_like(F: Any, x: Any) -> Any:
        return F.contrib.foreach(
            lambda row, s: (row + F.random.uniform_like(row), s), x, F.zeros((3,))
        )[0]

    def gamma(F: Any, x: Any) -> Any:
        return F.contrib.foreach(
            lambda row, s: (row + F.random.gamma(2, 1, shape=(3,)), s), x, F.zeros((3,))
        )[0]

    def nested(F: Any, x: Any) -> Any:
        def outer(row: Any, s: Any) -> Any:
            inner, _ = F.contrib.foreach(
                lambda one, t: (F.Dropout(one + t, p=0.5), t), row, F.zeros((1,))
            )
            return inner, s

        return F.contrib.foreach(outer, x, F.zeros((3,)))[0]

    def first_branch(F: Any, x: Any) -> Any:
        return F.contrib.cond(x.sum() > 0, lambda: F.Dropout(x, p=0.5), lambda: x)

    def second_branch(F: Any, x: Any) -> Any:
        return F.contrib.cond(
            x.sum() < 0, lambda: F.Dropout(x, p=0.5), lambda: x + F.random.normal(shape=(4, 3))
        )

    return {
        "dropout": dropout, "dropped state": dropped_state, "noise": noise, "noise like": noise_like,
        "gamma": gamma, "nested": nested, "first branch": first_branch, "second branch": second_branch,
    }  # fmt: skip


def while_cases() -> dict[str, Any]:
    """The same with a ``while_loop``, of which MXNet computes no gradient here."""

    def noise(F: Any, x: Any) -> Any:
        x = x + F.random.uniform(shape=(4, 3))
        out, state = F.contrib.while_loop(
            lambda i, s: i < 3,
            lambda i, s: (
                s + F.random.uniform(shape=(4, 3)),
                (i + 1, s * F.random.normal(shape=(4, 3))),
            ),
            (F.zeros((1,)), x),
            max_iterations=5,
        )
        rows = F.slice_axis(out, axis=0, begin=0, end=3)
        return F.broadcast_add(rows, F.expand_dims(state[1], 0)) + F.random.uniform(shape=(3, 4, 3))

    return {"while": noise}


def answer(mx: Any, forward: Any, learns: bool) -> list[Any]:
    """Outputs, gradient, and what is drawn next."""

    class Net(mx.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return forward(F, x)

    def numbers(array: Any) -> list[float]:
        return [float(f"{each:.6g}") for each in array.asnumpy().reshape(-1).tolist()]

    mx.random.seed(7)
    net = Net()
    net.hybridize()
    x = mx.nd.ones((4, 3))
    result = []
    if learns:
        x.attach_grad()
        with mx.autograd.record():
            y = net(x)
        y.backward()
        result = [numbers(y), numbers(x.grad)]
    else:
        result = [numbers(net(x))]
    return [*result, numbers(mx.nd.random.uniform(shape=(2,)))]


def answers(mx: Any) -> dict[str, Any]:
    """What a library says to all cases."""
    return {
        **{name: answer(mx, forward, True) for name, forward in cases().items()},
        **{name: answer(mx, forward, False) for name, forward in while_cases().items()},
    }


if __name__ == "__main__":
    import mxnet

    rows = [f'"{name}": {json.dumps(each)}' for name, each in answers(mxnet).items()]
    FIXTURE.write_text("{\n" + ",\n".join(rows) + "\n}\n")
