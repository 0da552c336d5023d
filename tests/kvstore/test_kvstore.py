"""KVStores of one process, against results of MXNet 1.9.1."""

from __future__ import annotations

import copy
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import nd
from tests.devices import run_again_on_four_devices

ROOT = Path(__file__).parents[2]
RECORDED = np.load(ROOT / "tests" / "parity" / "fixtures" / "kvstore.npz")
CONTEXTS = [mx.cpu(i) for i in range(4)]
both = pytest.mark.parametrize("kind", ["local", "device"])


def pulled(store: mx.kv.KVStore, key: object, like: nd.NDArray, count: int = 1) -> list:
    outs = [nd.zeros(like.shape, CONTEXTS[i]) for i in range(count)]
    store.pull(key, out=outs)
    return [out.asnumpy().tolist() for out in outs]


def on_each(*numbers: float, shape: tuple = (2,)) -> list:
    return [nd.full(shape, n, CONTEXTS[i]) for i, n in enumerate(numbers)]


def test_on_four_devices() -> None:
    """Run the tests of this folder again in a process where the four contexts are four devices.

    Tests of servers need no devices, and tests of interrupts start such a process themselves.
    """
    others = ("test_shard.py", "test_interrupts.py")
    run_again_on_four_devices(
        "tests/kvstore", *(f"--ignore=tests/kvstore/{name}" for name in others)
    )


# ---- values --------------------------------------------------------------------------------------


@both
def test_numbers_of_the_real_store(kind: str) -> None:
    store = mx.kv.create(kind)
    store.init(3, nd.ones((2, 3)))
    store.push(3, [nd.full((2, 3), 2), nd.full((2, 3), 3)])
    out = nd.zeros((2, 3))
    store.pull(3, out=out)
    assert np.array_equal(out.asnumpy(), RECORDED["push_list_no_updater"])

    store = mx.kv.create(kind)
    store.init("w", nd.full(2, 4))
    store.set_optimizer(mx.optimizer.SGD(learning_rate=0.1))
    store.push("w", [nd.ones(2)] * 3)
    out = nd.zeros(2)
    store.pull("w", out=out)
    assert np.array_equal(out.asnumpy(), RECORDED["sgd_on_store"])
    store.pushpull("w", [nd.ones(2)] * 2, out=out)
    assert out.asnumpy() == pytest.approx(RECORDED["sgd_on_store"] - 0.2)

    store = mx.kv.create(kind)
    stored = np.arange(8, dtype="float32").reshape(4, 2)
    store.init("r", nd.array(stored).tostype("row_sparse"))
    out = nd.sparse.zeros("row_sparse", (4, 2))
    store.row_sparse_pull("r", out=out, row_ids=nd.array([1, 3, 1]))
    assert out.indices.asnumpy().tolist() == [1, 3]
    assert np.array_equal(out.asnumpy()[[1, 3]], stored[[1, 3]])
    assert not out.asnumpy()[[0, 2]].any()
    store.init("d", nd.array(stored, dtype="float64").tostype("row_sparse"))
    store.row_sparse_pull("d", out=out, row_ids=nd.array([1]))
    assert out.dtype == out.asnumpy().dtype == np.float32


@both
def test_sparse_arrays_are_summed_in_the_dtype_of_the_stored_value(kind: str) -> None:
    store = mx.kv.create(kind)
    store.init("r", nd.ones((8, 2)).tostype("row_sparse"))
    threes = nd.ones((8, 2)).tostype("row_sparse") * 3
    one_row = nd.sparse.row_sparse_array((np.ones((1, 2)), [2]), shape=(8, 2))
    assert one_row.dtype == np.float64
    out = nd.sparse.zeros("row_sparse", (8, 2))
    store.push("r", [threes, one_row])
    store.row_sparse_pull("r", out=out, row_ids=nd.array([2, 0]))
    assert out.asnumpy()[:3].tolist() == [[3, 3], [0, 0], [4, 4]]  # MXNet's numbers
    store.set_optimizer(mx.optimizer.SGD(learning_rate=0.5))
    store.init("w", nd.ones((8, 2)))
    store.push("w", one_row)
    dense = nd.zeros((8, 2))
    store.pull("w", out=dense)
    assert dense.asnumpy()[1:4].tolist() == [[1, 1], [0.5, 0.5], [1, 1]]  # MXNet's numbers


@both
def test_devices_are_summed_and_a_push_replaces(kind: str) -> None:
    store = mx.kv.create(kind)
    like = nd.ones(2)
    store.init("a", like)
    assert pulled(store, "a", like, 4) == [[1, 1]] * 4
    store.push("a", on_each(1, 2, 3, 4), priority=-1)
    assert pulled(store, "a", like, 4) == [[10, 10]] * 4
    store.push("a", nd.full(2, 7, mx.cpu(2)))
    assert pulled(store, "a", like, 3) == [[7, 7]] * 3


@both
def test_lists_of_keys_are_accepted(kind: str) -> None:
    store = mx.kv.create(kind)
    store.init([5, 6, 7], [nd.ones(2), nd.zeros((3, 1)), nd.ones((2, 2))])
    store.push([5, 6], [on_each(1, 2), on_each(3, 4, shape=(3, 1))])
    a, b = nd.zeros(2), nd.zeros((3, 1), CONTEXTS[1])
    store.pull([5, 6], out=(a, b))
    assert a.asnumpy().tolist() == [3, 3] and b.asnumpy().tolist() == [[7], [7], [7]]
    grouped = nd.zeros(2)
    store.push([5, 5], [nd.ones(2), nd.full(2, 5)])  # one key twice is one push of both
    store.pull(5, out=grouped)
    assert grouped.asnumpy().tolist() == [6, 6]


@both
def test_pushpull_and_broadcast(kind: str) -> None:
    store = mx.kv.create(kind)
    outs = on_each(0, 0, 0)
    store.broadcast("x", nd.full(2, 7), out=outs)
    assert [each.asnumpy().tolist() for each in outs] == [[7, 7]] * 3
    values = on_each(1, 2, 3)
    store.pushpull("x", values)
    assert [each.asnumpy().tolist() for each in values] == [[6, 6]] * 3
    elsewhere = nd.zeros(2, CONTEXTS[3])
    store.pushpull("x", on_each(1, 1), out=elsewhere)
    assert elsewhere.asnumpy().tolist() == [2, 2]
    assert pulled(store, "x", elsewhere) == [[2, 2]]
    half = nd.zeros(2, dtype="float16")
    store.pull("x", out=half)
    assert half.dtype == np.float16 and half.asnumpy().tolist() == [2, 2]


@both
def test_an_updater_changes_the_stored_value(kind: str) -> None:
    store = mx.kv.create(kind)
    store.init(3, nd.ones(2))
    keys = []

    def update(key: object, pushed: nd.NDArray, stored: nd.NDArray) -> None:
        keys.append(key)
        stored += pushed * 2

    store.set_updater(update)
    expected = 1
    for numbers in ((1, 1), (1,), (2, 3, 4, 5)):
        store.push(3, on_each(*numbers))
        expected += 2 * sum(numbers)
        assert pulled(store, 3, nd.ones(2), 4) == [[expected] * 2] * 4
    assert keys == [3, 3, 3]


def test_many_keys_of_all_sizes_on_four_devices() -> None:
    shapes = [(), (1,), (7,), (300, 70), (64, 64, 5), (0, 3), (1200, 1000)]
    rng = np.random.RandomState(0)
    # Halves add up exactly in any order.
    data = [[rng.randint(-9, 9, s).astype("float32") / 2 for _ in CONTEXTS] for s in shapes]
    store = mx.kv.create("device")
    with mx.np_shape():
        values = [
            [mx.np.array(x, ctx=c) for x, c in zip(row, CONTEXTS, strict=True)] for row in data
        ]
        keys = list(range(len(shapes)))
        store.init(keys, [row[0] for row in values])
        store.pushpull(keys, values)
        for row, arrays in zip(data, values, strict=True):
            for array, context in zip(arrays, CONTEXTS, strict=True):
                assert array.context is context
                assert np.array_equal(array.asnumpy(), sum(row))


def test_large_values_are_spread_over_the_devices() -> None:
    store = mx.kv.create("device")
    shape = (1 << 18,)
    store.init([0, 1, 2, 3, 4, 5], [nd.zeros(shape)] * 4 + [nd.zeros(8)] * 2)
    values = [on_each(1, 1, 1, 1, shape=shape)] * 4 + [on_each(1, 1, 1, 1, shape=(8,))] * 2
    store.push([0, 1, 2, 3, 4, 5], values)
    results = [store.handle.stored[key].context for key in range(6)]
    assert results == [*CONTEXTS, CONTEXTS[0], CONTEXTS[0]]


def test_many_pending_sums_do_not_block_each_other() -> None:
    """Devices of a CPU share threads: simultaneous exchanges could block each other."""
    store = mx.kv.create("device")
    store.init(list(range(100)), [nd.zeros(3)] * 100)
    values = [on_each(1, 2, 3, 4, shape=(3,)) for _ in range(100)]
    for key, each in enumerate(values):
        store.pushpull(key, each)
    assert all(each[i].asnumpy().tolist() == [10] * 3 for each in values for i in range(4))


# ---- row_sparse ------------------------------------------------------------------------------------


@both
def test_row_sparse_gradients_are_summed(kind: str) -> None:
    gradients = [
        nd.sparse.row_sparse_array((nd.ones((2, 2)), [0, 1]), shape=(4, 2), ctx=CONTEXTS[0]),
        nd.sparse.row_sparse_array((nd.ones((2, 2)), [1, 3]), shape=(4, 2), ctx=CONTEXTS[1]),
    ]
    store = mx.kv.create(kind)
    store.init("r", nd.ones((4, 2)).tostype("row_sparse"))
    store.push("r", gradients)
    outs = [nd.sparse.zeros("row_sparse", (4, 2), CONTEXTS[i]) for i in range(2)]
    store.row_sparse_pull("r", out=outs, row_ids=[nd.array([1]), nd.arange(4)])
    assert outs[0].indices.asnumpy().tolist() == [1]
    assert outs[1].asnumpy()[:, 0].tolist() == [1, 2, 0, 1]
    store.pull("r", out=outs[0])
    assert outs[0].indices.asnumpy().tolist() == [1]  # left alone
    store.pull("r", out=outs[0], ignore_sparse=False)
    assert outs[0].asnumpy()[:, 0].tolist() == [1, 2, 0, 1]

    store = mx.kv.create(kind)
    store.init("d", nd.ones((4, 2)))
    store.set_optimizer(mx.optimizer.SGD(learning_rate=0.1))
    store.push("d", gradients)
    out = nd.zeros((4, 2))
    store.pull("d", out=out)
    assert out.asnumpy()[:, 0] == pytest.approx([0.9, 0.8, 1, 0.9])


# ---- kinds, errors -----------------------------------------------------------------------------------


def test_each_kind_of_store_is_created() -> None:
    for name, kind in (("local", "local"), ("DEVICE", "device"), ("local_update_cpu",) * 2):
        store = mx.kvstore.create(name)
        assert (store.type, store.rank, store.num_workers) == (kind, 0, 1)
        assert store.is_capable("OPTIMIZER") and store.barrier() is None
    assert mx.kv.create().type == "local"
    assert isinstance(mx.kv.create("teststore"), mx.kvstore.base.TestStore)
    assert mx.kv.create("nccl").get_num_dead_node(4) == 0
    with pytest.raises(mx.MXNetError, match=r"is not part of a job"):
        mx.kv.create("dist_async")
    with pytest.raises(TypeError, match="must be a string"):
        mx.kv.create(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Unknown capability"):
        mx.kv.create().is_capable("flying")
    with pytest.raises(mx.MXNetError, match="no server to run"):
        mx.kvstore.KVStoreServer(mx.kv.create()).run()


def test_a_custom_store_can_be_registered() -> None:
    @mx.kvstore.KVStoreBase.register
    class Silent(mx.kvstore.base.TestStore):
        """A store under another name."""

    try:
        assert type(mx.kv.create("silent")) is Silent
    finally:
        del mx.kvstore.KVStoreBase.kv_registry["silent"]


def test_a_name_that_no_store_has_is_a_local_one_with_a_warning() -> None:
    with pytest.warns(UserWarning, match=r"create\('hvd'\): no store has that name.*'horovod'"):
        store = mx.kv.create("HVD")
    assert (store.type, store.num_workers) == ("hvd", 1)  # as in MXNet
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ("local_allreduce_cpu", "local_allreduce_device", "device", "nccl", "test"):
            assert mx.kv.create(name).type == name


def test_missing_methods_of_a_store_are_errors() -> None:
    store = mx.kvstore.KVStoreBase()
    for use in (
        lambda: store.broadcast(1, nd.ones(1), nd.ones(1)),
        lambda: store.pushpull(1, nd.ones(1)),
        lambda: store.is_capable("optimizer"),
        lambda: store.type,
        lambda: store.rank,
    ):
        with pytest.raises(NotImplementedError, match="KVStoreBase does not define"):
            use()


def test_the_test_store() -> None:
    store = mx.kv.create("teststore")
    values, outs = on_each(1, 2), on_each(0, 0)
    store.pushpull(3, values, out=outs)
    assert [each.asnumpy().tolist() for each in outs] == [[3, 3]] * 2
    store.broadcast(3, nd.full(2, 5), out=outs)
    assert [each.asnumpy().tolist() for each in outs] == [[5, 5]] * 2
    assert not store.is_capable(mx.kvstore.KVStoreBase.OPTIMIZER)
    with pytest.raises(NotImplementedError):
        store.set_optimizer(None)


@both
def test_wrong_calls_are_errors(kind: str) -> None:
    store = mx.kv.create(kind)
    with pytest.raises(mx.MXNetError, match=r"key a doesn't exist. Did you init"):
        store.push("a", nd.ones(2))
    with pytest.raises(mx.MXNetError, match=r"key a doesn't exist. Did you init"):
        store.pull("a", out=nd.ones(2))
    store.init("a", nd.ones(2))
    with pytest.raises(mx.MXNetError, match="duplicate init of key a"):
        store.init("a", nd.ones(2))
    with pytest.raises(mx.MXNetError, match="duplicate init of key a"):
        store.broadcast("a", nd.ones(2), out=nd.ones(2))
    with pytest.raises(mx.MXNetError, match="Mixed key types"):
        store.init(1, nd.ones(2))
    with pytest.raises(mx.MXNetError, match="Mixed key types"):
        store.push(1, nd.ones(2))
    with pytest.raises(mx.MXNetError, match=r"shape \(2,\), but the pushed array has \(5,\)"):
        store.push("a", nd.ones(5))
    with pytest.raises(mx.MXNetError, match=r"shape \(2,\), but out has \(3,\)"):
        store.pull("a", out=nd.ones(3))
    with pytest.raises(mx.MXNetError, match="the value of key a is dense"):
        out = nd.sparse.zeros("row_sparse", (2,))
        store.row_sparse_pull("a", out=out, row_ids=nd.array([1]))
    with pytest.raises(AssertionError, match="unexpected type for keys"):
        store.init(2.5, nd.ones(2))
    with pytest.raises(AssertionError, match="inconsistent types of keys"):
        store.init(["b", 1], [nd.ones(2), nd.ones(2)])
    with pytest.raises(AssertionError, match="2 keys take"):
        store.init(["b", "c"], [nd.ones(2)])
    with pytest.raises(AssertionError, match="must be NDArrays"):
        store.init("b", np.ones(2))
    with pytest.raises(AssertionError, match="out="):
        store.pull("a")
    with pytest.raises(TypeError, match="takes an optimizer, not 'sgd'"):
        store.set_optimizer("sgd")
    with pytest.raises(AssertionError, match="Cannot save states"):
        store.save_optimizer_states("states")


def test_errors_are_raised_at_the_reader() -> None:
    class Bad(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            raise ZeroDivisionError("bad gradient")

    @mx.operator.register("bad_gradient_of_kvstore")
    class BadProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Bad()

    store = mx.kv.create("device")
    store.init([1, 2], [nd.ones(2), nd.ones(2)])
    good, bad = nd.ones(2), nd.Custom(nd.ones(2), op_type="bad_gradient_of_kvstore")
    store.push(1, [bad, nd.ones(2, CONTEXTS[1])])
    store.push(2, [good, nd.ones(2, CONTEXTS[1])])
    out, other = nd.zeros(2), nd.zeros(2)
    store.pull([1, 2], out=[out, other])
    with pytest.raises(mx.MXNetError, match="ZeroDivisionError: bad gradient"):
        out.asnumpy()


@both
def test_states_of_the_optimizer(kind: str, tmp_path: Path) -> None:
    path = str(tmp_path / "states")

    def trained() -> mx.kv.KVStore:
        store = mx.kv.create(kind)
        store.init("w", nd.ones(2))
        store.set_optimizer(mx.optimizer.create("sgd", learning_rate=0.1, momentum=0.9))
        return store

    first = trained()
    first.push("w", nd.ones(2))
    first.save_optimizer_states(path)
    first.push("w", nd.ones(2))
    second = trained()
    second.handle.stored["w"][:] = 0.9
    second.load_optimizer_states(path)
    second.push("w", nd.ones(2))
    assert np.allclose(pulled(second, "w", nd.ones(2)), pulled(first, "w", nd.ones(2)))


def test_pushing_and_pulling_do_not_block_the_caller() -> None:
    store = mx.kv.create("device")
    store.init("a", nd.zeros(2))
    values = on_each(1, 2)
    nd.waitall()
    with mx.autograd.record():
        store.pushpull("a", values)  # not part of the tape
    assert all(each._read().node is None for each in values)
    import threading

    gate = threading.Event()
    mx.engine.push(gate.wait, (), (), "communication", priority=9)
    store.push("a", on_each(3, 4), priority=5)
    store.pull("a", out=values)
    assert values[0].to_dict()["state"] == "pending"
    gate.set()
    assert values[1].asnumpy().tolist() == [7, 7]


@pytest.mark.parametrize("kind", ["local", "device"])
def test_pulled_arrays_are_independent_variables(kind: str) -> None:
    """One value in two arrays must not make both the same variable."""
    store = mx.kv.create(kind)
    store.init("w", nd.array([1.0, 2, 3]))
    first, second, constant = nd.zeros(3), nd.zeros(3), nd.zeros(3)
    first.attach_grad()
    for out in (first, second, constant):
        store.pull("w", out=out)
    second.attach_grad()
    with mx.autograd.record():
        loss = (first * second * second * constant).sum()
    loss.backward()
    assert first.grad.asnumpy().tolist() == [1, 8, 27]
    assert second.grad.asnumpy().tolist() == [2, 16, 54]
    assert constant.grad is None
    first[0] = 7
    assert second.asnumpy().tolist() == constant.asnumpy().tolist() == [1, 2, 3]


@pytest.mark.parametrize("kind", ["local", "device"])
@pytest.mark.parametrize("one_call", [False, True])
def test_pushed_arrays_are_independent_variables(kind: str, one_call: bool) -> None:
    store = mx.kv.create(kind)
    store.init("w", nd.zeros(3))
    pushed, pulled = nd.array([3.0, 4, 5]), nd.zeros(3)
    if one_call:
        store.pushpull("w", pushed, out=pulled)
    else:
        store.push("w", pushed)
        store.pull("w", out=pulled)
    pushed.attach_grad()
    pulled.attach_grad()
    with mx.autograd.record():
        loss = (pulled * pushed * pushed).sum()
    loss.backward()
    assert pulled.grad.asnumpy().tolist() == [9, 16, 25]
    assert pushed.grad.asnumpy().tolist() == [18, 32, 50]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda store: pickle.loads(pickle.dumps(store))])
def test_copies_of_a_device_store_go_on_from_its_values(copied: Any) -> None:
    store = mx.kv.create("device")
    store.set_optimizer(mx.optimizer.SGD(learning_rate=1))
    store.init(1, nd.ones(2))
    store.push(1, nd.ones(2))
    other = copied(store)
    other.push(1, nd.ones(2))
    values = []
    for each in (other, store):
        out = nd.zeros(2)
        each.pull(1, out)
        values.append(out.asnumpy().tolist())
    assert values == [[-1, -1], [0, 0]]


@both
def test_several_arrays_of_one_device_are_added_in_the_program_of_the_update(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for exchange in ("local.sum_on_host", "device.all_reduce"):
        monkeypatch.delattr(f"mixnet.kvstore.{exchange}")
    store = mx.kv.create(kind)
    store.init(0, nd.zeros(2))
    store._set_updater(lambda key, total, stored: stored.__iadd__(2 * total))
    out, arrays = nd.zeros(2), [nd.array([n, 1]) for n in (1e8, 1.5, -1e8, 0.5)]
    for _ in range(2):
        store.push(0, arrays)
        store.pull(0, out=out)
    in_order = np.float32(1e8) + np.float32(1.5) - np.float32(1e8) + np.float32(0.5)
    assert out.asnumpy().tolist() == [4 * in_order, 16]


def test_sums_that_overflow_do_not_warn() -> None:
    store = mx.kv.create("local")
    store.init(0, nd.zeros(1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        store.push(0, [nd.full(1, 3e38, context) for context in CONTEXTS[:2]])
        out = nd.zeros(1)
        store.pull(0, out=out)
        assert out.asnumpy().tolist() == [np.inf]
