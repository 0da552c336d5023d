"""Modules with row_sparse parameters: numbers are MXNet 1.9.1's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mixnet as mx
from tests.each_record import each_record


def factors(users: int, items: int) -> Any:
    """Matrix factorisation: the product of two embeddings."""
    parts = []
    for name, size in (("user", users), ("item", items)):
        weight = mx.sym.Variable(f"{name}_weight", stype="row_sparse")
        parts.append(
            mx.sym.Embedding(
                mx.sym.Variable(name), weight, input_dim=size, output_dim=3, sparse_grad=True
            )
        )
    score = mx.sym.Flatten(mx.sym.sum_axis(parts[0] * parts[1], axis=1))
    return mx.sym.LinearRegressionOutput(score, mx.sym.Variable("score"))


@pytest.mark.parametrize(
    ("optimizer", "losses", "rows"),
    [
        ("sgd", [0.3396328588, 0.2724479437, 0.2230803395],
         [0.07903162, 0.34246722, 0.9170297, 0.5326789]),
        ("adam", [0.2342058569, 0.0769428201, 0.0694689080],
         [-0.02627064, 0.0760055, 0.7495013, 0.27529597]),
    ],
)  # fmt: skip
def test_only_the_rows_of_the_batch_move(
    optimizer: str, losses: list[float], rows: list[float]
) -> None:
    draw = np.random.RandomState(1)
    numbers = [draw.randint(0, n, 12).astype("float32") for n in (8, 9)]
    scores = draw.rand(12).astype("float32")
    train = mx.io.NDArrayIter({"user": numbers[0], "item": numbers[1]}, {"score": scores}, 4)
    params = {
        name: mx.nd.array(draw.rand(size, 3)).tostype("row_sparse")
        for name, size in (("user_weight", 8), ("item_weight", 9))
    }
    module = mx.mod.Module(factors(8, 9), data_names=["user", "item"], label_names=["score"])
    module.bind(train.provide_data, train.provide_label)
    executor = module._exec_group.execs[0]
    for name in params:
        assert executor.arg_dict[name].stype == executor.grad_dict[name].stype == "row_sparse"
    module.init_params(arg_params=params, aux_params={})
    module.init_optimizer(
        kvstore=mx.kv.create("local"),
        optimizer=optimizer,
        optimizer_params={"learning_rate": 0.1, "wd": 0.01},
    )

    def needed(batch: Any) -> dict[str, Any]:
        return {"user_weight": batch.data[1], "item_weight": batch.data[0]}

    results = []
    for _ in range(3):
        train.reset()
        metric = mx.metric.create("mse")
        for batch in train:
            module.prepare(batch, sparse_row_id_fn=needed)
            module.forward_backward(batch)
            module.update()
            module.update_metric(metric, batch.label)
        results.append(metric.get()[1])
    assert results == pytest.approx(losses, rel=1e-5)
    user = module.get_params()[0]["user_weight"]
    assert user.stype == "row_sparse"
    np.testing.assert_allclose(user.asnumpy().ravel()[:4], rows, rtol=1e-4, atol=1e-6)


def test_parameters_have_the_storage_types_of_their_variables() -> None:
    data = mx.sym.Variable("data", stype="csr")
    weight = mx.sym.Variable("weight", stype="row_sparse", shape=(6, 2))
    assert weight.attr_dict() == {"weight": {"__storage_type__": "1", "__shape__": "(6, 2)"}}
    executor = mx.sym.sparse.dot(data, weight).simple_bind(mx.cpu(), data=(4, 6))
    assert [each.stype for each in executor.arg_arrays] == ["csr", "row_sparse"]
    dense = np.eye(4, 6, dtype="float32")
    values = np.arange(12, dtype="float32").reshape(6, 2)
    executor.arg_dict["data"][:] = mx.nd.array(dense).tostype("csr")
    executor.arg_dict["weight"][:] = mx.nd.array(values)
    actual = executor.forward(is_train=True)[0].asnumpy()
    np.testing.assert_array_equal(actual, dense @ values)
    executor.backward(mx.nd.ones((4, 2)))
    gradient = executor.grad_dict["weight"]
    assert gradient.stype == "row_sparse"
    np.testing.assert_array_equal(gradient.asnumpy(), dense.T @ np.ones((4, 2)))
    with pytest.raises(ValueError, match="stype='coo' is not one of default, row_sparse, csr"):
        mx.sym.Variable("x", stype="coo")


def test_initializers_fill_row_sparse_parameters() -> None:
    module = mx.mod.Module(factors(4, 4), data_names=["user", "item"], label_names=["score"])
    module.bind([("user", (2,)), ("item", (2,))], [("score", (2,))])
    module.init_params(mx.init.Constant(0.5))
    weight = module.get_params()[0]["user_weight"]
    assert weight.stype == "row_sparse" and (weight.asnumpy() == 0.5).all()


@each_record(
    ("name", "rows", "expected"),
    [
        ("square", [0, 2, 3], [0, 2, 3]),
        ("abs", [1, 4], [0, 1, 2, 4]),
        ("relu", [0, 2, 3], [0, 2, 3]),
        ("tanh", [0, 2, 3], [0, 2]),
    ],
)
@each_record("is_read_twice", [False, True])
def test_gradients_have_the_rows_that_were_read(
    name: str, rows: list[int], expected: list[int], is_read_twice: bool
) -> None:
    """Rows of MXNet 1.9.1: where the gradient is computed of row_sparse arrays, those of both."""
    values = np.full((len(rows), 2), 0.5, "f")
    v = mx.nd.sparse.row_sparse_array((values, rows), shape=(5, 2))
    v.attach_grad(stype="row_sparse")
    dense = np.zeros((2, 5), "f")
    dense[0, 0], dense[1, 2] = 1, 2
    x = mx.nd.array(dense).tostype("csr")
    with mx.autograd.record():
        y = mx.nd.sparse.dot(x, getattr(mx.nd.sparse, name)(v))
        if is_read_twice:
            y = y + mx.nd.sparse.dot(x, v)
    y.backward()
    assert v.grad.indices.asnumpy().tolist() == expected


def test_lazy_adam_of_a_factorization_machine() -> None:
    """MXNet 1.9.1's weights: Adam goes on in the rows of the square whose gradient is 0."""
    x = mx.sym.Variable("data", stype="csr")
    v = mx.sym.Variable("v", shape=(5, 2), stype="row_sparse")
    sparse = mx.sym.sparse
    pairs = mx.sym.square(sparse.dot(x, v)) - sparse.dot(sparse.square(x), sparse.square(v))
    out = mx.sym.LogisticRegressionOutput(
        mx.sym.sum(pairs, axis=1), mx.sym.Variable("softmax_label")
    )
    module = mx.mod.Module(out)
    module.bind([("data", (2, 5))], [("softmax_label", (2,))])
    first = np.arange(1, 11, dtype="f").reshape(5, 2) / 10
    module.init_params(arg_params={"v": mx.nd.array(first).tostype("row_sparse")})
    module.init_optimizer(kvstore=None, optimizer="adam", optimizer_params={"learning_rate": 0.1})
    for columns in ([0, 1, 2], [2, 3], [3, 4]):
        dense = np.zeros((2, 5), "f")
        dense[:, columns] = 1
        dense[1] *= 2
        batch = mx.io.DataBatch([mx.nd.array(dense).tostype("csr")], [mx.nd.array([0, 1])])
        module.forward_backward(batch)
        module.update()
    weights = module.get_params()[0]["v"].asnumpy()
    expected = [
        [-0.1188029, -0.0188029],
        [0.0811972, 0.1811971],
        [0.226611, 0.3232197],
        [0.5456531, 0.6444457],
        [0.8361182, 0.9361182],
    ]
    np.testing.assert_allclose(weights, expected, rtol=1e-4, atol=1e-6)


def test_reading_the_parameters_leaves_the_rows_of_the_last_preparation_in_the_executor() -> None:
    ids = mx.sym.Variable("ids")
    weight = mx.sym.Variable("weight", stype="row_sparse")
    net = mx.sym.Embedding(ids, weight=weight, input_dim=4, output_dim=2, sparse_grad=True)
    net = mx.sym.LinearRegressionOutput(net, mx.sym.Variable("label"))
    module = mx.mod.Module(net, data_names=["ids"], label_names=["label"])
    module.bind([("ids", (2,))], [("label", (2, 2))])
    module.init_params(mx.init.One())
    options = {"learning_rate": 1.0, "rescale_grad": 1.0}
    module.init_optimizer(mx.kv.create("local"), "sgd", options)
    for rows in ([0, 1], [1, 3]):
        batch = mx.io.DataBatch([mx.nd.array(rows)], [mx.nd.zeros((2, 2))])
        module.prepare(batch, sparse_row_id_fn=lambda batch: {"weight": batch.data[0]})
        module.forward_backward(batch)
        module.update()
    parameters, _ = module.get_params()
    assert parameters["weight"].asnumpy()[:, 0].tolist() == [0.5, 0.25, 1, 0.5]
    assert module._exec_group.execs[0].arg_dict["weight"].indices.asnumpy().tolist() == [1, 3]
