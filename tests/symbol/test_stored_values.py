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


def machine() -> Any:
    """A factorization machine with a weight of each kind: ``w`` is multiplied, the squares of ``v`` too."""
    weight, factors = sym.var("w"), sym.var("s")
    squares = sym._internal._square_sum(factors, axis=1, keepdims=True)
    products = sym.sum(sym.square(sym.dot(X, factors)), axis=1, keepdims=True)
    total = sym.dot(X, weight) + products - sym.dot(sym.square(X), squares)
    return sym.make_loss(total)


def machine_bound(rows: int, request: str = "write") -> Any:
    requests = {"x": "null", "w": request, "s": request}
    return machine().simple_bind(
        mx.cpu(),
        requests,
        stype_dict={"x": "csr", "w": "row_sparse", "s": "row_sparse"},
        x=(2, rows),
        w=(rows, 1),
        s=(rows, 2),
    )


def feed(executor: Any, columns: list[int], pulled: list[int], rows: int) -> None:
    """Two samples, ``1, 2`` and ``-1, 3``, in three columns; weights with the rows of these numbers."""
    data = [1.0, 2.0, -1.0, 3.0]
    places = [columns[i] for i in (0, 1, 1, 2)]
    matrix = nd.sparse.csr_matrix((data, places, [0, 2, 4]), shape=(2, rows))
    matrix.copyto(executor.arg_dict["x"])
    numbers = np.array(pulled)
    for name, content in (("w", numbers[:, None] - 2.0), ("s", weights_of(numbers))):
        shape = (rows, content.shape[1])
        array = nd.sparse.row_sparse_array((content, numbers), shape=shape)
        array.copyto(executor.arg_dict[name])


def weights_of(numbers: np.ndarray) -> np.ndarray:
    """The rows with these numbers of ``arange(...).reshape(-1, 2) / 4 - 1``."""
    return np.stack([2 * numbers, 2 * numbers + 1], 1) / 4.0 - 1.0


@each_record(
    ("request", "factor"),
    [("write", 1), ("add", 2)],
)
def test_the_rows_that_a_batch_needs(request: str, factor: int) -> None:
    executor = machine_bound(8, request)
    feed(executor, [1, 3, 5], [1, 3, 5], 8)
    for _ in range(2):
        (output,) = executor.forward(is_train=True)
        executor.backward()
    # MXNet's numbers.
    assert output.asnumpy().tolist() == [[-0.75], [-4.375]]
    expected = {"s": [[2.0, 3.0], [-11.0, -11.5], [-3.0, -4.5]], "w": [[1.0], [1.0], [3.0]]}
    for name, rows in expected.items():
        gradient = executor.grad_dict[name]
        assert gradient.indices.asnumpy().tolist() == [1, 3, 5]
        np.testing.assert_array_equal(gradient.data.asnumpy(), factor * np.array(rows))


def test_weights_of_more_rows_than_memory_has() -> None:
    rows = 10**13
    executor = machine_bound(rows)
    for shift in (0, rows // 2):
        columns = [1 + shift, 3 + shift, 5 + shift]
        feed(executor, columns, columns, rows)
        (output,) = executor.forward(is_train=True)
        executor.backward()
        assert executor.grad_dict["s"].indices.asnumpy().tolist() == columns
        assert executor.grad_dict["w"].data.asnumpy().tolist() == [[1.0], [1.0], [3.0]]
        if not shift:
            assert output.asnumpy().tolist() == [[-0.75], [-4.375]]


@each_record("pulled", [[1, 2, 3, 5, 7], [1, 3], list(range(8))])
def test_other_rows_than_those_of_the_batch(pulled: list[int]) -> None:
    executor = machine_bound(8)
    feed(executor, [1, 3, 5], pulled, 8)
    dense = [executor.arg_dict[name].asnumpy().astype("float64") for name in "xws"]
    (output,) = executor.forward(is_train=True)
    executor.backward()
    matrix, weight, factors = dense
    product = matrix @ factors
    squares = matrix**2 @ (factors**2).sum(1, keepdims=True)
    expected = matrix @ weight + (product**2).sum(1, keepdims=True) - squares
    np.testing.assert_allclose(output.asnumpy(), expected, rtol=1e-6)
    gradient = 2 * matrix.T @ product - 2 * factors * (matrix**2).sum(0)[:, None]
    np.testing.assert_allclose(executor.grad_dict["s"].asnumpy(), gradient, rtol=1e-6)


@each_record(
    "symbol",
    [
        sym.broadcast_add(sym.dot(X, W), sym.sum(W)),
        sym.Group([sym.dot(X, W), sym.square(W)]),
        sym.dot(X, W) + sym.dot(X, V),
        sym.dot(X, W) + sym.dot(Y, W),
        sym.dot(X, sym.BlockGrad(W)),
    ],
)
def test_weights_that_are_read_whole(symbol: Any) -> None:
    names = symbol.list_arguments()
    known = {"x": BATCHES[1][:, :3], "y": BATCHES[0][:, :3], "v": WEIGHT[:3], "w": WEIGHT[:3]}
    executor = bound(symbol, (), **{name: known[name] for name in names})
    weight = nd.sparse.row_sparse_array((WEIGHT[:2], [0, 2]), shape=(3, 2))
    weight.copyto(executor.arg_dict["w"])
    matrix = nd.sparse.csr_matrix(([1.0, 2.0, 3.0], [0, 2, 2], [0, 1, 2, 3]), shape=(3, 3))
    matrix.copyto(executor.arg_dict["x"])
    dense = {name: nd.array(executor.arg_dict[name].asnumpy()) for name in names}
    expected = symbol.bind(mx.cpu(), dense).forward()
    outputs = executor.forward()
    equal([each.asnumpy() for each in outputs], *[each.asnumpy() for each in expected])


def test_a_step_with_the_rows_that_prepare_pulls() -> None:
    rows = 64
    weight = sym.var("w", stype="row_sparse", shape=(rows, 1))
    loss = sym.make_loss(sym.dot(sym.var("data", stype="csr"), weight))
    module = mx.mod.Module(loss, label_names=None)
    module.bind([("data", (2, rows))])
    arrays = {"w": nd.ones((rows, 1)).tostype("row_sparse")}
    module.set_params(arrays, {})
    optimizer = mx.optimizer.create("sgd", learning_rate=1.0, rescale_grad=0.5)
    module.init_optimizer(kvstore=mx.kv.create("local"), optimizer=optimizer)
    expected = np.ones((rows, 1))
    for first in (3, 20, 3):
        columns = [first, first + 1, first + 1, first + 9]
        data = nd.sparse.csr_matrix(([1.0, 2.0, -1.0, 3.0], columns, [0, 2, 4]), shape=(2, rows))
        mx.runtime.reset_counters()
        module.prepare(mx.io.DataBatch([data]), lambda batch: {"w": batch.data[0].indices})
        module.forward_backward(mx.io.DataBatch([data]))
        module.update()
        # The pull belongs to the program of the step, which can then write the rows in place.
        assert mx.runtime.counters()["flushes"].keys() <= {"Module.prepare", "Module.update"}
        np.add.at(expected, columns, -0.5 * np.array([[1.0], [2.0], [-1.0], [3.0]]))
    np.testing.assert_array_equal(module.get_params()[0]["w"].asnumpy(), expected)
