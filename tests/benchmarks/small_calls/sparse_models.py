"""Training steps of sparse models, for mixnet and for the real MXNet alike; see ``calls``.

Batches are csr matrices of random columns. A module pulls the rows that a batch needs; a store updates them.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import Any

import numpy as np

BATCHES = 8


def make_calls(mx: Any) -> dict[str, Callable[[], object]]:
    """Steps by title, in the order of the table."""
    steps: dict[str, Callable[[], object]] = {}
    for size, columns in ((64, 10), (512, 39)):
        for optimizer in ("sgd", "adam"):
            for title, features, model in (
                ("linear model, 1e6 features", 10**6, linear),
                ("factorization machine, 1e5 features", 10**5, machine),
                ("factorization machine, 1e6 features", 10**6, machine),
            ):
                full_title = f"{title}, {size}x{columns}, {optimizer}"
                steps[full_title] = _later(_step, mx, model, features, size, columns, optimizer)
    return steps


def _later(make: Callable[..., Callable[[], object]], *arguments: Any) -> Callable[[], object]:
    """A call that is made when it is first called: the others take memory meanwhile."""
    steps: list[Callable[[], object]] = []

    def call() -> object:
        if not steps:
            steps.append(make(*arguments))
        return steps[0]()

    return call


def linear(mx: Any, data: Any, label: Any, features: int) -> tuple[Any, list[str]]:
    """Softmax regression, and the names of its weights."""
    weight = mx.sym.Variable("weight", shape=(features, 2), stype="row_sparse")
    bias = mx.sym.Variable("bias", shape=(2,))
    scores = mx.sym.broadcast_add(mx.sym.sparse.dot(data, weight), bias)
    return mx.sym.SoftmaxOutput(scores, label, name="out"), ["weight"]


def machine(mx: Any, data: Any, label: Any, features: int) -> tuple[Any, list[str]]:
    """A factorization machine of eight factors, and the names of its weights."""
    sym = mx.sym
    weight = sym.Variable("weight", shape=(features, 1), stype="row_sparse")
    factors = sym.Variable("factors_weight", shape=(features, 8), stype="row_sparse")
    bias = sym.Variable("bias", shape=(1,))
    of_columns = sym.broadcast_add(sym.sparse.dot(data, weight), bias)
    sums = sym.sum(sym.square(sym.sparse.dot(data, factors)), axis=1, keepdims=True)
    squares = sym._internal._square_sum(data=factors, axis=1, keepdims=True)
    own = sym.sparse.dot(sym.sparse.square(data), squares)
    scores = of_columns + 0.5 * (sums - own)
    return sym.LogisticRegressionOutput(scores, label, name="out"), ["weight", "factors_weight"]


def _step(
    mx: Any,
    model: Callable[..., tuple[Any, list[str]]],
    features: int,
    size: int,
    columns: int,
    optimizer: str,
) -> Callable[[], object]:
    data, label = mx.sym.Variable("data", stype="csr"), mx.sym.Variable("softmax_label")
    symbol, weights = model(mx, data, label, features)
    module = mx.mod.Module(symbol)
    module.bind([("data", (size, features))], [("softmax_label", (size,))])
    module.init_params(mx.init.Normal(0.01))
    rule = mx.optimizer.create(optimizer, learning_rate=0.01, rescale_grad=1.0 / size)
    module.init_optimizer(kvstore=mx.kv.create("local"), optimizer=rule)
    random = np.random.RandomState(0)
    batches = cycle([_batch(mx, random, features, size, columns) for _ in range(BATCHES)])
    metric = mx.metric.create("mse" if len(weights) > 1 else "acc")

    def step() -> None:
        batch = next(batches)
        module.prepare(batch, lambda each: dict.fromkeys(weights, each.data[0].indices))
        module.forward_backward(batch)
        module.update()
        module.update_metric(metric, batch.label)

    return step


def _batch(mx: Any, random: Any, features: int, size: int, columns: int) -> Any:
    places = np.concatenate([np.sort(random.randint(0, features, columns)) for _ in range(size)])
    content = random.rand(len(places)).astype("float32"), places, np.arange(size + 1) * columns
    matrix = mx.nd.sparse.csr_matrix(content, shape=(size, features))
    return mx.io.DataBatch([matrix], [mx.nd.array(random.randint(0, 2, size))])
