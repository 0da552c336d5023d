"""Sparse arrays: conversion, arithmetic on stored values, products, gradients, lazy updates."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import nd
from mixnet.ndarray import row_sparse_array, sparse_array, sparse_rules
from mixnet.runtime.interpret.patience import compiling_at_once
from tests.each_record import each_record

DATA = np.array([[0, 1, 0], [0, 0, 0], [2, 0, 3], [0, 0, 0]], "float32")
OTHER = np.array([[1, 1, 1], [0, 0, 0], [0, 0, 0], [2, 2, 2]], "float32")


def csr(data: Any = DATA) -> Any:
    return nd.array(data).tostype("csr")


def rows(data: Any = DATA) -> Any:
    return nd.array(data).tostype("row_sparse")


def test_conversion_keeps_positions_and_values() -> None:
    c, r = csr(), rows()
    assert (c.stype, r.stype) == ("csr", "row_sparse")
    assert c.indptr.asnumpy().tolist() == [0, 1, 1, 3, 3]
    assert c.indices.asnumpy().tolist() == [1, 0, 2]
    assert c.data.asnumpy().tolist() == [1, 2, 3]
    assert r.indices.asnumpy().tolist() == [0, 2]
    assert r.data.asnumpy().tolist() == [[0, 1, 0], [2, 0, 3]]
    for each in (c, r):
        np.testing.assert_array_equal(each.asnumpy(), DATA)
        np.testing.assert_array_equal(each.tostype("default").asnumpy(), DATA)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(each)).asnumpy(), DATA)
        assert repr(each) == f"\n<{type(each).__name__} 4x3 @cpu(0)>"
        each.check_format()
    with pytest.raises(ValueError, match="from csr to row_sparse is not supported"):
        c.tostype("row_sparse")


# expression, its storage type in MXNet 1.9.1
RESULTS = [
    ("a + b", "sparse"), ("a - b", "sparse"), ("a * b", "sparse"), ("a * d", "sparse"),
    ("a + d", "default"), ("d + a", "default"), ("d * a", "default"), ("a / b", "default"),
    ("a * 2", "sparse"), ("2 * a", "sparse"), ("a / 2", "sparse"), ("-a", "sparse"),
    ("a + 1", "default"), ("a ** 2", "default"), ("abs(a)", "sparse"),
    ("nd.sqrt(a)", "sparse"), ("nd.relu(a)", "sparse"), ("nd.square(a)", "sparse"),
    ("nd.exp(a)", "default"), ("nd.sigmoid(a)", "default"), ("nd.clip(a, 0, 1)", "sparse"),
    ("nd.clip(a, 1, 2)", "default"), ("nd.zeros_like(a)", "sparse"), ("a == b", "default"),
    ("nd.norm(a)", "default"), ("nd.sum(a)", "default"), ("nd.sum(a, axis=0)", "default"),
    ("nd.mean(a, axis=1)", "default"), ("a.astype('float64')", "sparse"), ("a.copy()", "sparse"),
]  # fmt: skip


@each_record("kind", ["csr", "row_sparse"])
@each_record(("text", "stype"), RESULTS, ids=[text for text, _ in RESULTS])
def test_results_are_those_of_dense_arrays(kind: str, text: str, stype: str) -> None:
    dense = {"a": nd.array(DATA), "b": nd.array(OTHER), "d": nd.array(DATA + 1), "nd": nd}
    sparse = {**dense, "a": dense["a"].tostype(kind), "b": dense["b"].tostype(kind)}
    actual, expected = eval(text, sparse), eval(text, dense)
    assert actual.stype == (kind if stype == "sparse" else "default")
    assert actual.dtype == expected.dtype
    np.testing.assert_allclose(actual.asnumpy(), expected.asnumpy(), rtol=1e-6)


def test_the_fallback_to_dense_arrays_warns_once(caplog, monkeypatch) -> None:
    monkeypatch.setattr(sparse_rules, "_warned", set())
    for _ in range(2):
        nd.exp(csr())
        nd.max(csr(), axis=0)
        nd.max(csr(), axis=1)
        nd.Concat(csr(), csr(), dim=0)  # has a kernel
    # As in MXNet 1.9.1: once for each operator, storage types and attributes.
    texts = [record.getMessage() for record in caplog.records]
    assert [text.partition(" has")[0] for text in texts] == [
        "Storage type fallback: exp()",
        "Storage type fallback: max(axis=(0,))",
        "Storage type fallback: max(axis=(1,))",
    ]
    assert "for inputs of storage types csr" in texts[0]
    assert "the results are the same, of storage types default" in texts[0]
    caplog.clear()
    monkeypatch.setenv("MXNET_STORAGE_FALLBACK_LOG_VERBOSE", "0")
    nd.log(csr())
    assert not caplog.records


def test_updates_with_row_sparse_gradients_are_logged_as_by_mxnet(caplog, monkeypatch) -> None:
    monkeypatch.setattr(sparse_rules, "_warned", set())
    weight, gradient = nd.ones((4, 2)), nd.ones((4, 2)).tostype("row_sparse")
    for name, options in (
        ("adagrad", {}),
        ("sgd", {"lazy_update": False}),
        ("ftrl", {}),
        ("sgd", {}),
        ("adam", {}),
    ):
        optimizer = mx.optimizer.create(name, **options)
        optimizer.update(0, weight, gradient, optimizer.create_state(0, weight))
    fallback, lazy = (record.getMessage() for record in caplog.records)
    assert fallback.startswith("Storage type fallback: ftrl_update(")
    assert "row_sparse" in fallback and lazy.startswith("Lazy update")


@pytest.mark.parametrize("transpose", [False, True])
def test_csr_times_dense_is_the_dense_product(transpose: bool) -> None:
    weight = np.arange(8.0, dtype="float32").reshape(4, 2) if transpose else np.ones((3, 2), "f4")
    actual = nd.dot(csr(), nd.array(weight), transpose_a=transpose)
    assert actual.stype == ("row_sparse" if transpose else "default")
    expected = (DATA.T if transpose else DATA) @ weight
    np.testing.assert_allclose(actual.asnumpy(), expected)
    vector = nd.dot(csr(), nd.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(vector.asnumpy(), DATA @ [1, 2, 3])


def test_dense_times_csr_is_the_dense_product() -> None:
    left = np.ones((2, 4), "float32")
    actual = nd.dot(nd.array(left), csr())
    assert actual.stype == "csr"
    np.testing.assert_allclose(actual.asnumpy(), left @ DATA)
    plain = nd.dot(nd.array(left), csr(), forward_stype="default")
    assert plain.stype == "default"
    right = nd.dot(nd.ones((2, 3)), csr(), transpose_b=True)
    np.testing.assert_allclose(right.asnumpy(), np.ones((2, 3)) @ DATA.T)
    with pytest.raises(mx.MXNetError, match="do not fit"):
        nd.dot(csr(), nd.ones((4, 2)))


def test_rows_of_a_csr_matrix_can_be_selected() -> None:
    c = csr()
    assert c[1:3].stype == c[2].stype == "csr"
    np.testing.assert_array_equal(c[1:3].asnumpy(), DATA[1:3])
    np.testing.assert_array_equal(c[-2].asnumpy(), DATA[2:3])
    np.testing.assert_array_equal(nd.slice(c, begin=(1, 0), end=(3, 2)).asnumpy(), DATA[1:3, :2])
    np.testing.assert_array_equal(
        nd.concat(c, csr(OTHER), dim=0).asnumpy(), np.concatenate([DATA, OTHER])
    )
    with pytest.raises(IndexError, match="row 9"):
        c[9]
    with pytest.raises(ValueError, match="step 1"):
        c[::2]


def test_retain_selects_rows() -> None:
    actual = nd.sparse.retain(rows(), nd.array([0, 3]))
    assert actual.indices.asnumpy().tolist() == [0, 3]
    np.testing.assert_array_equal(actual.asnumpy(), DATA * [[1], [0], [0], [1]])


def test_sparse_arrays_are_created_from_parts() -> None:
    csr = nd.sparse.csr_matrix(([1, 2, 3], [1, 0, 2], [0, 1, 3]), shape=(2, 3))
    np.testing.assert_array_equal(csr.asnumpy(), [[0, 1, 0], [2, 0, 3]])
    csr = nd.sparse.csr_matrix(([1, 2, 3, 4], ([0, 1, 1, 1], [1, 0, 2, 2])), shape=(2, 3))
    np.testing.assert_array_equal(csr.asnumpy(), [[0, 1, 0], [2, 0, 7]])
    row_sparse = nd.sparse.row_sparse_array(([[3, 4], [1, 2]], [3, 1]), shape=(5, 2))
    assert row_sparse.indices.asnumpy().tolist() == [3, 1]  # as given: check_format says so
    np.testing.assert_array_equal(row_sparse.asnumpy()[[1, 3]], [[1, 2], [3, 4]])
    for stype in ("csr", "row_sparse"):
        empty = nd.sparse.zeros(stype, (2, 3), dtype="float64")
        assert empty.stype == stype and empty.dtype == np.float64
        np.testing.assert_array_equal(empty.asnumpy(), np.zeros((2, 3)))
        np.testing.assert_array_equal(nd.zeros((2, 3), stype=stype).asnumpy(), np.zeros((2, 3)))
    with pytest.raises(ValueError, match="outside the shape"):
        nd.sparse.csr_matrix(([1], ([5], [0])), shape=(2, 3))
    for dense in (nd.zeros((2, 3, 4)), nd.zeros(3)):
        with pytest.raises(ValueError, match="is a matrix") as raised:
            dense.tostype("csr")
        assert raised.type.__name__ == "ValueError"  # as in MXNet
    with pytest.raises(ValueError, match="unknown storage type"):
        nd.zeros((2, 3)).tostype("coo")


def test_a_sparse_array_can_be_assigned() -> None:
    target = rows()
    target[:] = rows(OTHER)
    np.testing.assert_array_equal(target.asnumpy(), OTHER)
    target[:] = 5
    np.testing.assert_array_equal(target.asnumpy(), np.full((4, 3), 5))
    with pytest.raises(ValueError, match="as a whole"):
        target[0] = 1
    with pytest.raises(mx.MXNetError, match=r"reshape .* is not supported for Sparse"):
        target.reshape((2, 6))


def test_gradient_of_an_embedding_has_only_its_rows() -> None:
    weight = nd.ones((100, 3))
    weight.attach_grad(stype="row_sparse")
    for _ in range(2):
        with mx.autograd.record():
            out = nd.Embedding(nd.array([[7, 1], [2, 1]]), weight, input_dim=100, output_dim=3)
        out.backward()
        assert weight.grad.stype == "row_sparse"
        assert weight.grad.indices.asnumpy().tolist() == [1, 2, 7]
        np.testing.assert_array_equal(weight.grad.data.asnumpy(), [[2] * 3, [1] * 3, [1] * 3])


def test_gradients_of_rows_add_up() -> None:
    weight = nd.ones((5, 2))
    weight.attach_grad("add", stype="row_sparse")
    for ids in ([0, 1], [1, 4]):
        with mx.autograd.record():
            out = nd.Embedding(nd.array(ids), weight, input_dim=5, output_dim=2) * 2
        out.backward()
    assert weight.grad.indices.asnumpy().tolist() == [0, 1, 4]
    np.testing.assert_array_equal(weight.grad.asnumpy()[:, 0], [2, 4, 0, 0, 2])


def test_gradient_of_a_product_with_a_csr_matrix() -> None:
    for stype in ("default", "row_sparse"):
        weight = nd.ones((3, 2))
        weight.attach_grad(stype=stype)
        with mx.autograd.record():
            out = nd.dot(csr(DATA[:2]), weight)
        out.backward()
        assert weight.grad.stype == stype
        np.testing.assert_array_equal(weight.grad.asnumpy(), DATA[:2].T @ np.ones((2, 2)))
    assert weight.grad.indices.asnumpy().tolist() == [1]


def test_a_dense_use_makes_the_gradient_dense() -> None:
    weight = nd.ones((4, 2))
    weight.attach_grad(stype="row_sparse")
    with mx.autograd.record():
        out = nd.Embedding(nd.array([1]), weight, input_dim=4, output_dim=2).sum()
        out = out + (weight * weight).sum()
    out.backward()
    np.testing.assert_array_equal(weight.grad.asnumpy()[:, 0], [2, 3, 2, 2])


def test_lazy_updates_touch_only_the_rows_of_the_gradient() -> None:
    gradient = nd.sparse.row_sparse_array(([[1.0, 1.0]], [2]), shape=(4, 2))
    for lazy in (True, False):
        weight, momentum = nd.ones((4, 2)), nd.ones((4, 2))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nd.sgd_mom_update(
                weight, gradient, momentum, out=weight, lr=0.1, momentum=0.9, wd=0.5,
                lazy_update=lazy,
            )  # fmt: skip
        moved = weight.asnumpy()[:, 0] != 1
        assert moved.tolist() == ([False, False, True, False] if lazy else [True] * 4)
        assert momentum.asnumpy()[2, 0] == pytest.approx(0.9 - 0.1 * (1 + 0.5))


def test_lazy_update_of_a_row_sparse_weight() -> None:
    weight = nd.ones((4, 2)).tostype("row_sparse")
    mean, var = nd.sparse.zeros("row_sparse", (4, 2)), nd.sparse.zeros("row_sparse", (4, 2))
    gradient = nd.sparse.row_sparse_array(([[1.0, 1.0]], [2]), shape=(4, 2))
    nd.adam_update(weight, gradient, mean, var, out=weight, lr=0.1)
    assert weight.stype == mean.stype == "row_sparse"
    assert mean.indices.asnumpy().tolist() == [0, 1, 2, 3]  # as MXNet 1.9.1
    np.testing.assert_allclose(mean.asnumpy()[:, 0], [0, 0, 0.1, 0], rtol=1e-6)
    assert (weight.asnumpy()[:, 0] != 1).tolist() == [False, False, True, False]


def test_steps_with_other_numbers_of_rows_are_the_same_program() -> None:
    net = mx.gluon.nn.Embedding(30, 2, sparse_grad=True)
    net.initialize(mx.init.One())
    trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.5}, kvstore=None)
    batches = [[1, 2, 3, 4], [1, 1, 1, 1], [29, 5, 29, 6], [7, 7, 8, 9]]
    compiled = []
    for batch in batches:
        with mx.autograd.record():
            loss = (net(nd.array(batch)) ** 2).sum()
        loss.backward()
        trainer.step(1)
        mx.nd.waitall()
        compiled.append(mx.runtime.counters()["programs_compiled"])
    assert compiled[1:] == compiled[1:2] * 3
    untouched = np.ones(30, bool)
    untouched[[row for batch in batches for row in batch]] = False
    weight = net.weight.data().asnumpy()
    assert (weight[untouched] == 1).all() and (weight[~untouched] < 1).all()
    gradient = net.weight.grad()
    assert gradient.indices.asnumpy().tolist() == [7, 8, 9]
    assert gradient.data.shape == (3, 2)
    np.testing.assert_array_equal(gradient.asnumpy()[[7, 8, 9]], gradient.data.asnumpy())


def test_scipy_matrices_are_converted_both_ways() -> None:
    scipy_sparse = pytest.importorskip("scipy.sparse")
    matrix = scipy_sparse.csr_matrix(DATA.astype("float64"))
    csr = nd.sparse.array(matrix)
    assert csr.dtype == np.float64
    np.testing.assert_array_equal(csr.asscipy().toarray(), DATA)


def repeated() -> nd.sparse.CSRNDArray:
    """A matrix with two values at one position and unsorted columns in its last row."""
    return nd.sparse.csr_matrix(
        ([1.0, 2.0, 3.0, 5.0, 4.0], [1, 1, 0, 2, 1], [0, 2, 3, 5]), shape=(3, 3)
    )


def test_of_several_values_at_one_place_the_last_counts() -> None:
    """Numbers of MXNet 1.9.1; only products with a dense matrix add them up there."""
    dense = [[0, 2, 0], [3, 0, 0], [0, 4, 5]]
    assert repeated().asnumpy().tolist() == dense
    assert repeated().tostype("default").asnumpy().tolist() == dense
    assert (repeated() * 2).asnumpy()[0].tolist() == [0, 4, 0]
    assert nd.add_n(repeated(), nd.ones((3, 3))).asnumpy()[0].tolist() == [1, 3, 1]
    product = nd.dot(repeated(), nd.array([[1, 2], [3, 4], [5, 6]]))
    assert product.asnumpy()[0].tolist() == [9, 12]


def test_unsorted_positions_are_saved_and_loaded(tmp_path: Path) -> None:
    path = str(tmp_path / "matrix.params")
    nd.save(path, [repeated(), nd.sparse.row_sparse_array(([[1.0], [2.0]], [2, 0]), shape=(3, 1))])
    matrix, rows = nd.load(path)
    assert matrix.indices.asnumpy().tolist() == [1, 1, 0, 2, 1]
    assert matrix.asnumpy().tolist() == repeated().asnumpy().tolist()
    assert rows.asnumpy().tolist() == [[2], [0], [1]]
    with pytest.raises(mx.MXNetError, match="must rise within a row"):
        matrix.check_format()


def test_products_accept_matrices_with_unsorted_columns() -> None:
    matrix = nd.sparse.csr_matrix(([1.0, 2, 3], [0, 1, 0], [0, 1, 1, 3]), shape=(3, 2))
    assert (matrix * matrix).asnumpy().tolist() == [[1, 0], [0, 0], [9, 4]]


def some_rows(*numbers: int) -> nd.sparse.RowSparseNDArray:
    """Some of four rows, each filled with its number plus 1."""
    if not numbers:
        return nd.sparse.zeros("row_sparse", (4, 2))
    return nd.sparse.row_sparse_array(
        ([[each + 1.0] * 2 for each in numbers], numbers), shape=(4, 2)
    )


@pytest.mark.parametrize(
    ("left", "right", "stored", "values"),
    [
        ((), (), [], []),
        ((), (1, 3), [1, 3], [0, 0]),
        ((0,), (0, 2), [0, 2], [1, 0]),
        ((1, 2), (1, 3), [1, 2, 3], [4, 0, 0]),
    ],
)
def test_a_product_of_rows_stores_those_of_both(left, right, stored, values) -> None:
    """Rows of MXNet 1.9.1."""
    product = nd.sparse.elemwise_mul(some_rows(*left), some_rows(*right))
    assert product.indices.asnumpy().tolist() == stored
    assert product.data.asnumpy().tolist() == [[each, each] for each in values]


def test_empty_sparse_arrays_compute_as_in_mxnet() -> None:
    """What MXNet 1.9.1 gives."""
    none = some_rows()
    for result in (none + none, none - none, nd.sparse.retain(none, nd.array([0, 3]))):
        assert result.stype == "row_sparse" and result.indices.shape == (0,)
    empty = nd.sparse.zeros("csr", (3, 2))
    assert nd.sum(empty, axis=1).asnumpy().tolist() == [0, 0, 0]
    assert nd.sum(empty, axis=0).asnumpy().tolist() == [0, 0]


def test_a_number_is_stored_in_every_row() -> None:
    for number in (0, 2.5):
        array = some_rows(1)
        array[:] = number
        assert array.indices.asnumpy().tolist() == [0, 1, 2, 3]
        assert array.asnumpy().tolist() == [[number, number]] * 4
    with pytest.raises(ValueError, match="csr array cannot be filled"):
        csr()[:] = 0


def test_a_product_with_a_transposed_matrix_stores_no_zeros() -> None:
    """Positions of MXNet 1.9.1; without the transposition it stores whole columns."""
    left = nd.array([[0, 1, 0], [0, 0, 0]])
    matrix = nd.array([[0, 2, 0], [1, 0, 0], [0, 3, 1]]).tostype("csr")
    product = nd.sparse.dot(left, matrix, transpose_b=True)
    assert product.stype == "csr" and product.indices.asnumpy().tolist() == [0, 2]
    assert product.asnumpy().tolist() == [[2, 0, 3], [0, 0, 0]]


def test_sums_of_csr_store_no_zeros():
    a = nd.sparse.csr_matrix(np.array([[1.0, 2, 0], [0, 3, 0]]))
    b = nd.sparse.csr_matrix(np.array([[1.0, 0, 5], [0, -3, 0]]))
    for result, starts in ((a - b, [0, 2, 3]), (a + b, [0, 3, 3]), (a - a, [0, 0, 0])):
        assert result.stype == "csr"
        assert result.indptr.asnumpy().tolist() == starts
        assert 0 not in result.data.asnumpy().tolist()
    assert (a - b).asnumpy().tolist() == [[0, 2, -5], [0, 6, 0]]


def test_a_copy_into_a_sparse_array_keeps_the_dtype_of_the_target() -> None:
    for stype in ("csr", "row_sparse"):
        target = mx.nd.sparse.zeros(stype, (2, 2), dtype="float64")
        mx.nd.array([[0, 1.5], [2, 0]]).copyto(target)
        assert (target.stype, target.dtype) == (stype, np.float64)
        assert target.asnumpy().tolist() == [[0, 1.5], [2, 0]]


def test_all_of_a_copy_is_on_the_context_of_the_target() -> None:
    for stype in ("csr", "row_sparse"):
        source = mx.nd.array([[0, 1.5], [2, 0]], ctx=mx.cpu(1)).tostype(stype)
        copied = mx.nd.sparse.zeros(stype, (2, 2), ctx=mx.cpu(2))
        source.copyto(copied)
        assigned = mx.nd.sparse.zeros(stype, (2, 2), ctx=mx.cpu(2))
        assigned[:] = source
        for target in (copied, assigned, assigned.tostype("default")):
            parts = [target] if target.stype == "default" else [target._data, *target._aux]
            assert {each.context for each in parts} == {mx.cpu(2)}
            assert target.asnumpy().tolist() == [[0, 1.5], [2, 0]]
        dense = mx.nd.zeros((2, 2), ctx=mx.cpu(2))
        assert source.copyto(dense).context == mx.cpu(2)
        assert dense._read().spec.context == mx.cpu(2)


def test_auxiliary_arrays_are_read_by_number() -> None:
    csr = mx.nd.array([[0, 1, 0], [2, 0, 3]]).tostype("csr")
    assert [csr._aux_data(i).asnumpy().tolist() for i in (0, 1)] == [[0, 1, 3], [1, 0, 2]]
    assert mx.nd.array([[0, 1], [0, 0]]).tostype("row_sparse")._aux_data(0).asnumpy().tolist() == [
        0
    ]
    with pytest.raises(mx.MXNetError, match="2 auxiliary arrays; there is no number 7"):
        csr._aux_data(7)


def test_assigning_a_numpy_array_to_a_sparse_array_warns() -> None:
    csr = mx.nd.array([[0, 1, 0], [2, 0, 3]]).tostype("csr")
    with pytest.warns(RuntimeWarning, match="NumPy array"):
        csr[:] = np.eye(2, 3)
    assert csr.asnumpy().tolist() == [[1, 0, 0], [0, 1, 0]]
    assert csr._aux_type(0) is np.int64


def test_rows_that_do_not_exist_are_not_retained() -> None:
    for wrong in ([9], [-1]):
        with pytest.raises(IndexError, match=r"row -?\d of an array of 4 rows"):
            rows().retain(nd.array(wrong))
    with pytest.raises(TypeError, match="one argument"):
        rows().retain()


def test_copying_a_sparse_array_into_itself_warns() -> None:
    array = csr()
    with pytest.warns(RuntimeWarning, match="same array"):
        assert array.copyto(array) is False


def test_sparse_arrays_and_arrays_of_mx_np_do_not_mix() -> None:
    for array in (csr(), rows()):
        with pytest.raises(TypeError, match=r"as_np_ndarray|as_nd_ndarray"):
            array + mx.np.ones((4, 3))


@pytest.mark.parametrize(
    ("name", "options"), [("adam", {}), ("sgd", {"momentum": 0.9}), ("ftrl", {})]
)
def test_states_of_row_sparse_weights_have_all_rows(name: str, options: Any) -> None:
    # as MXNet 1.9.1
    optimizer = mx.optimizer.create(name, learning_rate=0.1, **options)
    updater = mx.optimizer.get_updater(optimizer)
    updater(0, rows(), (nd.array(DATA) + 1).tostype("row_sparse"))
    states = updater.states[0]
    for each in states if isinstance(states, tuple) else [states]:
        assert each.indices.asnumpy().tolist() == [0, 1, 2, 3]


def test_a_negative_extent_is_an_error_of_the_shape() -> None:
    with pytest.raises(ValueError, match=r"negative.*\(-1, 2\)"):
        nd.sparse.csr_matrix((-1, 2))


@pytest.mark.parametrize("shape", [(1, 3), (3,), (4, 1)])
def test_elementwise_products_do_not_broadcast(shape: tuple[int, ...]) -> None:
    with pytest.raises(mx.MXNetError):
        nd.elemwise_mul(csr(), nd.ones(shape)).asnumpy()
    product = nd.broadcast_mul(csr(), nd.ones(shape) * 2)
    assert product.stype == "csr"
    np.testing.assert_array_equal(product.asnumpy(), 2 * DATA)


@pytest.mark.parametrize("weight", [nd.array, csr, rows])
@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_an_update_without_out_leaves_the_weight(weight: Any, stype: str) -> None:
    before, gradient = weight(DATA), nd.array(DATA).tostype(stype)
    moment = nd.zeros(DATA.shape)
    for update in (
        lambda: nd.sgd_update(before, gradient, lr=0.5),
        lambda: nd.sgd_mom_update(before, gradient, moment, lr=0.5, momentum=0),
        lambda: nd.sgd_update(before, gradient, lr=0.5, lazy_update=False),
    ):
        np.testing.assert_allclose(update().asnumpy(), DATA / 2)
        np.testing.assert_array_equal(before.asnumpy(), DATA)
    nd.sgd_update(before, gradient, lr=0.5, out=before)
    np.testing.assert_allclose(before.asnumpy(), DATA / 2)


@pytest.mark.parametrize(
    ("name", "expected"), [("add", 10.0), ("subtract", 0.0), ("multiply", 25.0), ("divide", 1.0)]
)
def test_functions_of_two_arrays_take_their_names(name: str, expected: float) -> None:
    stored = (nd.ones((4, 3)) * 5).tostype("row_sparse")
    function = getattr(nd.sparse, name)
    np.testing.assert_array_equal(function(lhs=stored, rhs=stored).asnumpy(), expected)
    np.testing.assert_array_equal(function(rhs=stored, lhs=stored).asnumpy(), expected)


@pytest.mark.parametrize(("axis", "expected"), [(None, [4]), (1, [1, 1, 2]), (-1, [1, 1, 2])])
def test_stored_zeros_are_counted(axis: int | None, expected: list[int]) -> None:
    # MXNet's counts of the same matrix. Graph libraries store the numbers of edges, the first of which is 0.
    places = (nd.array([0, 1, 2, 2]), nd.array([1, 0, 2, 1]))
    edges = nd.sparse.csr_matrix((nd.arange(4), places), shape=(3, 3)).astype("int64")
    count = nd.contrib.getnnz(edges, axis=axis)
    assert (count.asnumpy().tolist(), count.dtype) == (expected, np.int64)


def test_stored_elements_of_columns_are_those_of_scipy() -> None:
    scipy_sparse = pytest.importorskip("scipy.sparse")
    matrix = scipy_sparse.csr_matrix((np.arange(4.0), [1, 0, 2, 1], [0, 1, 2, 4]), (3, 3))
    stored = nd.sparse.csr_matrix(matrix)
    assert nd.contrib.getnnz(stored, axis=0).asnumpy().tolist() == matrix.getnnz(0).tolist()


@pytest.mark.parametrize(
    "make",
    [
        lambda: nd.sparse.csr_matrix(([1, nd.array([2])], [0, 1], [0, 1, 2])),
        lambda: nd.sparse.csr_matrix(([1, [2]], [0, 1], [0, 1, 2])),
        lambda: nd.sparse.csr_matrix(([1, 2], [0, [1]], [0, 1, 2])),
        lambda: nd.sparse.csr_matrix(([1, 2], [0, None], [0, 1, 2])),
        lambda: nd.sparse.csr_matrix(([1, 2], [0, 1], [0, 1, "a"])),
        lambda: nd.sparse.csr_matrix(([1, [2]], ([0, 1], [0, 1]))),
        lambda: nd.sparse.row_sparse_array(([[1, 2], [3]], [1, 2])),
        lambda: nd.sparse.row_sparse_array(([[1, 2]], ["a"])),
    ],
)
def test_parts_that_are_no_numbers_are_a_type_error(make: Any) -> None:
    with pytest.raises(TypeError, match="are numbers in lists of equal lengths, not"):
        make()


def test_positions_that_are_no_pair_are_named() -> None:
    with pytest.raises(ValueError, match=r"not data and 2\."):
        nd.sparse.csr_matrix(([2], 2), shape=(3, 2))


def test_a_product_with_a_row_sparse_variable_makes_no_dense_matrix(monkeypatch) -> None:
    matrix, weight = csr(DATA.T), rows(OTHER)
    weight.attach_grad()
    head = np.arange(9, dtype="float32").reshape(3, 3)
    monkeypatch.delattr(mx.nd.sparse.CSRNDArray, "_dense")
    with mx.autograd.record():
        product = nd.dot(matrix, weight)
    product.backward(nd.array(head))
    np.testing.assert_array_equal(product.asnumpy(), DATA.T @ OTHER)
    np.testing.assert_array_equal(weight.grad.asnumpy(), DATA @ head)


def test_the_rows_of_an_array_that_stores_all_are_its_dense_content() -> None:
    values = np.arange(6, dtype="float32").reshape(3, 2) + 1
    array = rows(values)
    mx.nd.waitall()
    before = mx.runtime.counters()["operations"]
    dense = array.tostype("default")
    dense.wait_to_read()
    assert mx.runtime.counters()["operations"] == before
    dense[0] = 0
    assert array.asnumpy().tolist() == values.tolist()
    unsorted = nd.sparse.row_sparse_array((values, [2, 0, 1]), shape=(3, 2))
    assert unsorted.asnumpy().tolist() == values[[1, 2, 0]].tolist()


@pytest.mark.parametrize(
    "stored", [[[1, 1], [2, 2], [3, 3], [4, 4]], [[1, 1], [0, 0], [3, 3], [4, 4]]]
)
def test_a_lazy_update_takes_the_rows_in_the_room_of_the_gradient(stored: list[list[int]]) -> None:
    embedding = mx.gluon.nn.Embedding(4, 2, sparse_grad=True)
    embedding.initialize()
    for numbers in ([1, 1, 1, 3], [3, 0, 0, 3]):
        with mx.autograd.record():
            loss = embedding(nd.array(numbers)).sum()
        loss.backward()
        weight = rows(np.array(stored, "float32"))
        nd.sgd_update(weight, embedding.weight.grad(), out=weight, lr=1)
        expected = np.array(stored, "float32") - np.bincount(numbers, minlength=4)[:, None]
        assert weight.asnumpy().tolist() == expected.tolist()


def test_a_gradient_through_a_square_leaves_out_rows_of_zeros() -> None:
    weight = rows(np.array([[1, 2], [0, 0], [3, 4], [0, 0], [5, 6]], "float32"))
    weight.attach_grad(stype="row_sparse")
    matrix = csr(np.array([[0, 0, 1, 0, 2], [1, 0, 0, 0, 0]], "float32"))
    with mx.autograd.record():
        loss = (nd.dot(matrix, weight) * nd.dot(matrix, weight.square())).sum()
    loss.backward()
    assert weight.grad.indices.asnumpy().tolist() == [0, 2, 4]  # as MXNet 1.9.1, also below
    assert weight.grad.data.asnumpy().tolist() == [[3, 12], [137, 216], [378, 560]]
    assert weight.grad._roomy[0].shape == (6, 2)  # three of each product, none of the zeros


@pytest.mark.parametrize("extent", [8, 1000])
def test_the_different_numbers_are_found_by_sorting_or_by_looking(extent: int) -> None:
    union, places = row_sparse_array._united(np.array([5, 2, 5, 7, 2]), extent)
    assert union.tolist() == [2, 5, 7] and places.tolist() == [1, 0, 1, 2, 0]


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_lazy_updates_change_the_buffers_of_weight_and_states_in_one_program(stype: str) -> None:
    embedding = mx.gluon.nn.Embedding(1024, 4, sparse_grad=True)
    embedding.initialize()
    weight, mean, var = (nd.ones((1024, 4)).tostype(stype) for _ in range(3))
    with compiling_at_once():
        for number, rows_read in enumerate([[1, 2, 2], [5, 6, 7], [3, 3, 3]]):
            with mx.autograd.record():
                loss = embedding(nd.array(rows_read)).sum()
            loss.backward()
            mx.nd.waitall()
            before = mx.runtime.counters()
            nd.adam_update(weight, embedding.weight.grad(), mean, var, out=weight, lr=0.1)
            mx.nd.waitall()
            after = mx.runtime.counters()
            assert after["donated_bytes"] - before["donated_bytes"] == 3 * 1024 * 4 * 4
            if number:
                assert after["programs_compiled"] == before["programs_compiled"]
    changed = np.flatnonzero((weight.asnumpy() != 1).any(1))
    assert changed.tolist() == [1, 2, 3, 5, 6, 7]


def test_a_copy_keeps_the_room_for_more_rows() -> None:
    shapes = set()  # of what programs read
    for count in (11, 12):
        rows = [mx.nd.sparse.row_sparse_array((np.ones((count, 2)), np.arange(count)), (50, 2))]
        total = rows[0] + rows[0]
        for array in (total, total.copy(), -total):
            shapes.add(array._roomy[0].shape)
        assert (-total.copy()).indices.asnumpy().tolist() == list(range(count))
        np.testing.assert_array_equal((-total.copy()).data.asnumpy(), np.full((count, 2), -2))
        np.testing.assert_array_equal((-total).asnumpy()[:count], np.full((count, 2), -2))
        assert not (-total).asnumpy()[count:].any()
    assert shapes == {(22, 2), (24, 2)}


@each_record("extent", [50, 10**9])
def test_places_among_numbers(extent: int) -> None:
    numbers = np.array([2, 3, 7, 40])
    sought = np.array([40, 2, 2, 7, 3])
    places = sparse_array.places_among(numbers, sought, extent)
    assert places is not None
    assert places.tolist() == [3, 0, 0, 2, 1]
    for other in (1, 4, 41, -1, extent, extent + 7):
        assert sparse_array.places_among(numbers, np.array([2, other]), extent) is None
    assert sparse_array.places_among(numbers[:0], sought, extent) is None
    assert sparse_array.distinct(sought).tolist() == numbers.tolist()
    assert sparse_array.distinct(sought[:0]).tolist() == []
