"""Executors multiply csr matrices by their stored values."""

from __future__ import annotations

from typing import Any

import numpy as np

import mixnet as mx
from mixnet import nd, sym
from tests.each_record import each_record

X, Y, W, V = (sym.var(name) for name in "xywv")
# three batches, the last without stored values
BATCHES = [
    np.array([[0, 1, 0, 2], [0, 0, 0, 0], [3, 0, -1, 0]], "float32"),
    np.array([[1, 1, 0, 2], [0, 4, 0, 0.5], [3, 0, -1, 1]], "float32"),
    np.zeros((3, 4), "float32"),
]
WEIGHT = np.arange(8, dtype="float32").reshape(4, 2) - 3
HEAD = np.array([[1, 2], [3, 4], [5, 6]], "float32")


def bound(symbol: Any, gradients: tuple[str, ...], **arrays: np.ndarray) -> Any:
    requests = {name: "write" if name in gradients else "null" for name in arrays}
    stypes = {"x": "csr", "y": "csr", "w": "row_sparse"}
    executor = symbol.simple_bind(
        mx.cpu(),
        requests,
        stype_dict={name: stypes[name] for name in arrays if name in stypes},
        **{name: array.shape for name, array in arrays.items()},
    )
    for name, array in arrays.items():
        nd.array(array).tostype(stypes.get(name, "default")).copyto(executor.arg_dict[name])
    return executor


def operators(executor: Any) -> set[str]:
    return {node.op.name for node in executor.graph_op(True).graph.nodes if not node.is_variable}


def results(executor: Any, *heads: np.ndarray) -> list[np.ndarray]:
    outputs = executor.forward(is_train=True)
    executor.backward([nd.array(head) for head in heads] or None)
    gradients = [each for each in executor.grad_dict.values() if each is not None]
    return [each.asnumpy() for each in (*outputs, *gradients)]


def equal(actual: list[np.ndarray], *expected: np.ndarray) -> None:
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


@each_record("weight", ["w", "v"])
def test_a_product_and_its_gradient(weight: str) -> None:
    executor = bound(sym.dot(X, sym.var(weight)), (weight,), x=BATCHES[0], **{weight: WEIGHT})
    assert "dot" not in operators(executor)
    for batch in BATCHES:
        nd.array(batch).tostype("csr").copyto(executor.arg_dict["x"])
        equal(results(executor, HEAD), batch @ WEIGHT, batch.T @ HEAD)
        gradient = executor.grad_dict[weight]  # of the columns that are stored, as in MXNet
        assert gradient.indices.asnumpy().tolist() == np.flatnonzero(batch.any(0)).tolist()


def test_a_transposed_product() -> None:
    executor = bound(sym.dot(X, V, transpose_a=True), ("v",), x=BATCHES[1], v=HEAD)
    assert "dot" not in operators(executor)
    equal(results(executor, WEIGHT), BATCHES[1].T @ HEAD, BATCHES[1] @ WEIGHT)


def test_a_transposed_product_beside_a_plain_one() -> None:
    squares = sym.dot(X, sym.dot(X, V, transpose_a=True))
    executor = bound(squares, ("v",), x=BATCHES[1], v=HEAD)
    gram = BATCHES[1] @ BATCHES[1].T
    equal(results(executor, HEAD), gram @ HEAD, gram @ HEAD)


def test_a_factorization_machine() -> None:
    squares = sym.dot(sym.square(X), sym.square(W))
    executor = bound(sym.square(sym.dot(X, W)) - squares, ("w",), x=BATCHES[0], w=WEIGHT)
    assert "dot" not in operators(executor)
    for batch in BATCHES:
        nd.array(batch).tostype("csr").copyto(executor.arg_dict["x"])
        products = batch @ WEIGHT
        gradient = 2 * batch.T @ (products * HEAD) - 2 * WEIGHT * (batch.T**2 @ HEAD)
        equal(results(executor, HEAD), products**2 - batch**2 @ WEIGHT**2, gradient)


def test_two_matrices_behind_another_argument() -> None:
    first, second = BATCHES[0], BATCHES[1][:, :3]
    total = sym.broadcast_add(V, sym.dot(X, W)) * sym.dot(Y, sym.var("u"))
    other = np.array([[1, 2], [3, 4], [5, -6]], "float32")
    row = np.array([[2, -1]], "float32")
    executor = bound(total, ("v", "w", "u"), v=row, x=first, w=WEIGHT, y=second, u=other)
    assert "dot" not in operators(executor)
    left, right = row + first @ WEIGHT, second @ other
    gradients = (
        (right * HEAD).sum(0, keepdims=True),
        first.T @ (right * HEAD),
        second.T @ (left * HEAD),
    )
    equal(results(executor, HEAD), left * right, *gradients)


@each_record(
    ("symbol", "truth"),
    [
        (sym.broadcast_add(sym.dot(X, V), sym.sum(X, axis=1, keepdims=True)), "sum"),
        (sym.dot(X + 1, V), "plus"),
        (sym.Group([sym.dot(X, V), sym.identity(X)]), "head"),
    ],
)
def test_a_matrix_that_something_else_reads_is_dense(symbol: Any, truth: str) -> None:
    batch = BATCHES[1]
    executor = bound(symbol, (), x=batch, v=WEIGHT)
    assert "_csr_dot" not in operators(executor)
    expected = {
        "sum": [batch @ WEIGHT + batch.sum(1, keepdims=True)],
        "plus": [(batch + 1) @ WEIGHT],
        "head": [batch @ WEIGHT, batch],
    }
    equal([each.asnumpy() for each in executor.forward()], *expected[truth])


def test_the_gradient_of_a_matrix_itself() -> None:
    executor = bound(sym.dot(X, V), ("x", "v"), x=BATCHES[1], v=WEIGHT)
    equal(results(executor, HEAD), BATCHES[1] @ WEIGHT, HEAD @ WEIGHT.T, BATCHES[1].T @ HEAD)


def test_an_argument_written_between_forward_and_backward() -> None:
    executor = bound(sym.dot(X, V) * sym.var("z"), ("v",), x=BATCHES[1], v=WEIGHT, z=HEAD)
    executor.forward(is_train=True)
    executor.arg_dict["z"][:] = 2
    executor.backward([nd.array(HEAD)])
    np.testing.assert_allclose(executor.grad_dict["v"].asnumpy(), BATCHES[1].T @ HEAD * 2)


def test_a_monitor_shows_the_product() -> None:
    executor = bound(sym.dot(X, V, name="product"), ("v",), x=BATCHES[1], v=WEIGHT)
    equal(results(executor, HEAD), BATCHES[1] @ WEIGHT, BATCHES[1].T @ HEAD)
    shown: dict[str, np.ndarray] = {}
    executor.set_monitor_callback(lambda name, array: shown.update({name: array.asnumpy()}), True)
    equal(results(executor, HEAD), BATCHES[1] @ WEIGHT, BATCHES[1].T @ HEAD)
    np.testing.assert_array_equal(shown["x"], BATCHES[1])
    np.testing.assert_allclose(shown["product_output"], BATCHES[1] @ WEIGHT)


def test_matrices_with_nearly_as_many_values_share_programs() -> None:
    sizes = set()
    for count in range(33, 65):
        matrix = mx.nd.sparse.csr_matrix(
            (np.ones(count), np.arange(count), [0, count]), shape=(1, 100)
        )
        parts = matrix._stored()
        assert parts[0].asnumpy().sum() == count
        sizes.add(tuple(each.shape for each in parts))
    assert sorted(sizes) == [((n,),) * 3 for n in (40, 48, 56, 64)]


def test_a_linear_model_of_many_features() -> None:
    rows = 10**5
    label = sym.var("softmax_label")
    weight = sym.var("weight", stype="row_sparse", shape=(rows, 2))
    product = sym.dot(sym.var("data", stype="csr"), weight)
    module = mx.mod.Module(sym.SoftmaxOutput(product, label, name="softmax"))
    module.bind([("data", (20, rows))], [("softmax_label", (20,))])
    module.init_params(mx.init.Zero())
    module.init_optimizer(optimizer="sgd", optimizer_params={"learning_rate": 20.0})
    columns = np.arange(20) * (rows // 20)
    data = nd.sparse.csr_matrix((np.ones(20), columns, np.arange(21)), shape=(20, rows))
    batch = mx.io.DataBatch([data], [nd.array(np.arange(20) % 2)])
    module.forward_backward(batch)
    module.update()
    module.forward(batch, is_train=False)
    # A step of 1 for the label, -1 for the other class, each halved: exp(0.5) against exp(-0.5).
    right = 1 / (1 + np.exp(-1))
    expected = np.where(np.arange(20)[:, None] % 2 == [0, 1], right, 1 - right)
    np.testing.assert_allclose(module.get_outputs()[0].asnumpy(), expected, rtol=1e-5)
