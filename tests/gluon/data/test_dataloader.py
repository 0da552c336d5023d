"""DataLoader: in this process, in threads, in worker processes."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import jax
import numpy as np
import pytest

import mixnet as mx
from mixnet.gluon import data
from mixnet.gluon.data.vision import transforms
from mixnet.ops.registry import OPERATORS
from tests import processes
from tests.threads import all_at_once

ROOT = Path(__file__).parents[3]
WAYS = [{}, {"num_workers": 2, "thread_pool": True}, {"num_workers": 2}]
NAMES = ["here", "threads", "processes"]
ways = pytest.mark.parametrize("way", WAYS, ids=NAMES)


@pytest.fixture
def children():
    """The running worker processes that a test has started."""
    gc.collect()
    before = {each.pid for each in multiprocessing.active_children()}
    return lambda: [p for p in multiprocessing.active_children() if p.pid not in before]


@ways
def test_batches_of_numbers_and_arrays(way: dict) -> None:
    rows = np.arange(20, dtype="float32").reshape(10, 2)
    parts = data.ArrayDataset(rows, list(range(10)), mx.nd.array(rows))
    batches = list(data.DataLoader(parts, 4, **way))
    assert [[each.shape for each in b] for b in batches] == [
        [(n, 2), (n,), (n, 2)] for n in (4, 4, 2)
    ]
    for i in (0, 2):
        np.testing.assert_array_equal(np.concatenate([b[i].asnumpy() for b in batches]), rows)
    assert batches[0][1].dtype == np.int64 and batches[0][0].dtype == np.float32
    one = next(iter(data.DataLoader(data.SimpleDataset([1, 2, 3]), 2, **way)))
    assert isinstance(one, mx.nd.NDArray) and one.asnumpy().tolist() == [1, 2]


@ways
def test_batch_transforms_equal_sample_transforms(way: dict) -> None:
    pixels = np.random.randint(0, 256, (7, 6, 5, 3)).astype("uint8")
    images = data.ArrayDataset(mx.nd.array(pixels, dtype="uint8"), np.arange(7))
    change = transforms.Compose([transforms.ToTensor(), transforms.Normalize(0.5, 0.25)])
    loaded = list(data.DataLoader(images.transform_first(change), 3, **way))
    expected = (pixels.transpose(0, 3, 1, 2) / np.float32(255) - 0.5) / 0.25
    actual = np.concatenate([each[0].asnumpy() for each in loaded])
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)

    class Twice(transforms.Normalize):
        def hybrid_forward(self, F, x):
            assert x.ndim == 3, "a class of one's own is asked for one image at a time"
            return super().hybrid_forward(F, x) * 2

    mine = transforms.Compose([transforms.ToTensor(), Twice(0.5, 0.25)])
    loaded = list(data.DataLoader(images.transform_first(mine).take(5), 3, **way))
    actual = np.concatenate([each[0].asnumpy() for each in loaded])
    np.testing.assert_allclose(actual, 2 * expected[:5], rtol=1e-5, atol=1e-6)


@ways
def test_operators_work_in_samples(way: dict) -> None:
    images = data.SimpleDataset([mx.nd.ones((4 + i, 5, 3)) * i for i in range(4)])

    def change(image: mx.nd.NDArray) -> tuple:
        small = mx.image.imresize(image, 3, 2)
        return (small.astype("float32") / 2 + 1).transpose((2, 0, 1)), small.mean().asscalar()

    loaded = list(data.DataLoader(images.transform(change), 2, **way))
    assert loaded[0][0].shape == (2, 3, 2, 3)
    np.testing.assert_allclose(np.concatenate([b[1].asnumpy() for b in loaded]), range(4))
    np.testing.assert_allclose(loaded[1][0].asnumpy()[1], 2.5)


@ways
def test_a_batchify_function_makes_what_it_wants(way: dict) -> None:
    def batchify(samples: list) -> dict:
        return {"rows": np.stack(samples), "text": "abc", "list": [mx.nd.array(samples[0])]}

    rows = data.SimpleDataset([np.full(2, i, "int16") for i in range(2)])
    (batch,) = data.DataLoader(rows, 2, batchify_fn=batchify, **way)
    assert batch["text"] == "abc" and batch["rows"].dtype == np.int16
    batch["rows"][0] = 9  # it is the program's own
    assert batch["rows"].tolist() == [[9, 9], [1, 1]]
    assert isinstance(batch["list"][0], mx.nd.NDArray)


@ways
def test_numpy_mode_is_that_of_the_loop(way: dict) -> None:
    mx.npx.set_np()
    try:
        pairs = data.ArrayDataset(mx.np.arange(4).reshape(2, 2), [1, 2])
        (batch,) = data.DataLoader(pairs.transform(lambda x, y: (x, y)), 2, **way)
        assert [type(each) for each in batch] == [mx.np.ndarray] * 2
        assert str(batch[1]) == "[1 2]" + " @cpu_shared(0)" * (len(way) > 0)
    finally:
        mx.npx.reset_np()


def test_contexts_are_mxnets() -> None:
    rows = data.ArrayDataset(np.ones((2, 3), "float32"))
    kinds = []
    for way in ({}, {"num_workers": 1}, {"pin_memory": True}):
        (batch,) = data.DataLoader(rows, 2, **way)
        kinds.append(str(batch.context))
        added = batch + mx.nd.ones((2, 3))
        assert added.context == mx.cpu() and added.sum().asscalar() == 12
    assert kinds == ["cpu(0)", "cpu_shared(0)", "cpu_pinned(0)"]


def test_making_samples_is_not_recorded() -> None:
    rows = mx.nd.array([[1.0, 2.0], [3.0, 4.0]])
    pairs = data.ArrayDataset(rows).transform(lambda x: x * 2)
    weight = mx.nd.ones((2,))
    weight.attach_grad()
    with mx.autograd.record():
        for batch in data.DataLoader(pairs, 2):
            loss = (batch * weight).sum()
        for batch in data.DataLoader(data.ArrayDataset(rows), 2):
            loss = loss + (batch * weight).sum()
    loss.backward()
    assert weight.grad.asnumpy().tolist() == [12, 18]
    image = mx.nd.ones((1, 2, 2))
    image.attach_grad()
    with mx.autograd.record():
        transforms.Normalize(0.5, 0.25)(image).sum().backward()
    assert image.grad.asnumpy().tolist() == [[[4, 4], [4, 4]]]


def test_the_naive_engine_makes_batches_on_demand() -> None:
    numbers = data.SimpleDataset(list(range(5)))
    with mx.engine.using("NaiveEngine"):
        for way in WAYS:
            results = [each.asnumpy().tolist() for each in data.DataLoader(numbers, 2, **way)]
            assert results == [[0, 1], [2, 3], [4]]


def test_arguments_that_contradict_each_other() -> None:
    numbers = data.SimpleDataset(list(range(4)))
    batches = data.BatchSampler(data.SequentialSampler(4), 2)
    for message, options in {
        "needs batch_size": {},
        "exclude each other": {"batch_size": 2, "shuffle": True, "sampler": data.RandomSampler(4)},
        "batch_sampler excludes": {"batch_size": 2, "batch_sampler": batches},
    }.items():
        with pytest.raises(ValueError, match=message):
            data.DataLoader(numbers, **options)
    with pytest.raises(AssertionError, match="timeout=0"):
        data.DataLoader(numbers, 2, timeout=0)
    assert len(data.DataLoader(numbers, batch_sampler=batches)) == 2


@ways
def test_samples_that_do_not_stack(way: dict) -> None:
    for samples, error in (
        ([np.ones(2), np.ones(3)], ValueError),
        ([mx.nd.ones((2,)), mx.nd.ones((3,))], ValueError),
        (["a", "b"], TypeError),
    ):
        with pytest.raises(error, match=r"batchify_fn|shapes|inhomogeneous"):
            list(data.DataLoader(data.SimpleDataset(samples), 2, **way))


# ---- errors, and the end ------------------------------------------------------------------------


class Mine(Exception):
    """Cannot be made from its message alone."""

    def __init__(self, one: int, two: int):
        super().__init__(f"{one} and {two}")


@ways
def test_an_error_of_a_sample_is_raised_when_its_batch_is_requested(way: dict) -> None:
    def bad(x: int) -> int:
        if x == 4:
            raise KeyError("the fourth")
        return x

    loader = data.DataLoader(data.SimpleDataset(list(range(8))).transform(bad), 2, **way)
    shapes = []
    with pytest.raises(KeyError, match="the fourth") as raised:
        for batch in loader:
            shapes.append(batch.shape)
    assert len(shapes) == 2
    if way == {"num_workers": 2}:
        assert "in bad" in str(raised.value.__cause__)


def test_an_error_that_cannot_be_pickled_is_still_reported() -> None:
    def bad(x: int) -> int:
        raise Mine(1, 2)

    with pytest.raises(mx.MXNetError, match="Mine: 1 and 2"):
        list(data.DataLoader(data.SimpleDataset([1]).transform(bad), 1, num_workers=1))


def test_a_worker_that_dies_is_reported(children) -> None:
    def die(x: int) -> int:
        os.kill(os.getpid(), signal.SIGKILL)
        return x

    loader = data.DataLoader(data.SimpleDataset([1, 2]).transform(die), 1, num_workers=2)
    with pytest.raises(mx.MXNetError, match="died of signal SIGKILL"):
        list(loader)
    assert not children()


@pytest.mark.parametrize("way", WAYS[1:], ids=NAMES[1:])
def test_a_worker_that_exceeds_the_timeout_is_an_error(way: dict, children) -> None:
    def slow(x: int) -> int:
        time.sleep(3)
        return x

    loader = data.DataLoader(data.SimpleDataset([1, 2]).transform(slow), 1, timeout=0.1, **way)
    with pytest.raises(multiprocessing.TimeoutError, match=r"more than 0\.1 seconds"):
        list(loader)
    assert not children()


def test_operators_that_need_a_device_are_errors_in_a_worker() -> None:
    @mx.ops.register("gamma_in_a_loader", differentiable=False)
    def gamma(data, *, key):  # a primitive that has no rule for NumPy
        return jax.random.gamma(key, data, dtype=data.dtype)

    def draw(x: mx.nd.NDArray) -> mx.nd.NDArray:
        return x.sum() + 0 * mx.nd.gamma_in_a_loader(mx.nd.ones((1,)))

    images = data.SimpleDataset([mx.nd.ones((1, 1, 2, 2))]).transform(draw)
    try:
        with pytest.raises(mx.MXNetError, match="thread_pool=True"):
            list(data.DataLoader(images, 1, num_workers=1))
        for way in WAYS[:2]:
            (batch,) = data.DataLoader(images, 1, **way)
            assert batch.asnumpy().ravel() == [4]
    finally:
        del OPERATORS["gamma_in_a_loader"]


def test_workers_end_with_their_loader(children) -> None:
    loader = data.DataLoader(data.SimpleDataset(list(range(40))), 2, num_workers=2)
    for i, _ in enumerate(loader):
        if i == 2:
            break  # in the middle of an epoch
    assert len(children()) == 2
    assert len(list(loader)) == 20, "the next epoch is whole"
    del loader
    gc.collect()
    assert not children()


def test_ctrl_c_leaves_no_processes_behind() -> None:
    program = """
        import os, signal, threading, time, multiprocessing, sys
        from mixnet.gluon import data
        def slow(x):
            time.sleep(0.02)
            return x
        loader = data.DataLoader(data.SimpleDataset(list(range(4000))).transform(slow), 2, num_workers=2)
        for i, batch in enumerate(loader):
            if i == 0:
                threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
                print(*[each.pid for each in multiprocessing.active_children()], flush=True)
    """
    done = processes.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True, text=True, timeout=60, check=False, cwd=ROOT,
    )  # fmt: skip
    assert "KeyboardInterrupt" in done.stderr and done.stderr.count("Traceback") == 1
    for pid in map(int, done.stdout.split()):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_batches_stay_valid_after_the_next_one_is_read() -> None:
    rows = np.arange(4000, dtype="float32").reshape(100, 40)
    loader = data.DataLoader(data.ArrayDataset(rows), 5, num_workers=2, prefetch=3)
    batches = [batch for _ in range(2) for batch in loader]
    actual = np.concatenate([each.asnumpy() for each in batches])
    np.testing.assert_array_equal(actual, np.concatenate([rows, rows]))
    for one, other in zip(loader, loader, strict=True):  # two epochs side by side
        np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())


def test_random_samples_do_not_depend_on_the_workers() -> None:
    def draw(x: int) -> tuple:
        return np.random.rand(), mx.nd.random.uniform(shape=(1,))

    numbers = data.SimpleDataset(list(range(6))).transform(draw)

    def epochs(workers: int) -> list:
        np.random.seed(5)
        loader = data.DataLoader(numbers, 2, num_workers=workers)
        return [[each.asnumpy().tolist() for each in b] for _ in range(2) for b in loader]

    one, two = epochs(1), epochs(2)
    assert one == two
    assert len({str(each) for each in one}) == 6, "each batch and each epoch draws anew"


def test_the_next_epoch_ahead() -> None:
    loader = data.DataLoader(data.SimpleDataset([1, 2, 3]), 1, num_workers=1, auto_reload=True)
    assert loader._iter is not None
    for _ in range(2):
        assert [each.asscalar() for each in loader] == [1, 2, 3]
    loader.clean()
    assert loader._iter is None and len(list(loader)) == 3


def test_a_network_accepts_batches_of_workers() -> None:
    net = mx.gluon.nn.Dense(2)
    net.initialize()
    rows = data.ArrayDataset(np.ones((4, 3), "float32"), np.zeros(4))
    for hybrid in (False, True):
        net.hybridize(hybrid)
        for x, y in data.DataLoader(rows, 2, num_workers=1):
            with mx.autograd.record():
                loss = (net(x) - y.astype("float32").reshape((-1, 1))).sum()
            loss.backward()
            x *= 2  # it may be written to
            assert x.asnumpy().sum() == 12


# ---- building a loader of one's own ---------------------------------------------------------------


def test_queues_carry_arrays() -> None:
    from mixnet.gluon.data import dataloader as old

    keys, batches = old.Queue(), old.SimpleQueue()
    keys.put((0, [1, 2]))
    keys.put((None, None))
    numbers = data.SimpleDataset([mx.nd.full((2,), i) for i in range(3)])
    old.worker_loop_v1(numbers, keys, batches, data.dataloader.default_batchify_fn)
    batches.put((None, None))
    fetched: dict = {}
    old.fetcher_loop_v1(batches, fetched, pin_memory=True)
    assert fetched[0].asnumpy().tolist() == [[1, 1], [2, 2]]
    assert str(fetched[0].context) == "cpu_pinned(0)"
    one, other = map(old.ConnectionWrapper, multiprocessing.Pipe())
    one.send({"a": mx.nd.ones((2,))})
    assert other.poll(5) and other.recv()["a"].asnumpy().tolist() == [1, 1]
    keys.close()
    keys.join_thread()


def test_arrays_as_shared_memory() -> None:
    from mixnet.gluon.data import dataloader as old

    for array in (mx.nd.array([[1, 2]], dtype="int16"), mx.np.array([1.5])):
        rebuild, facts = old.reduce_ndarray(array)
        again = rebuild(*facts)
        assert type(again) is type(array) and again.dtype == array.dtype
        np.testing.assert_array_equal(again.asnumpy(), array.asnumpy())


THREADS_OF_OPENCV = """
import sys
import numpy as np
from mixnet.gluon import data

class Threads:
    def __len__(self):
        return 2
    def __getitem__(self, index):
        import cv2
        return np.array([cv2.getNumThreads()], "float32")

for _ in range(2):
    loader = data.DataLoader(Threads(), 2, num_workers=1)
    print("cv2" in sys.modules, [batch.asnumpy().tolist() for batch in loader])
    import cv2
"""


def test_opencv_has_one_thread_in_every_worker() -> None:
    pytest.importorskip("cv2")
    command = [sys.executable, "-c", THREADS_OF_OPENCV]
    process = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    expected = "False [[[1.0], [1.0]]]\nTrue [[[1.0], [1.0]]]\n"
    assert process.stdout == expected, process.stdout + process.stderr


@ways
def test_threads_may_iterate_over_one_loader(way: dict) -> None:
    loader = data.DataLoader(data.ArrayDataset(np.arange(40.0)), batch_size=4, **way)

    def read(number: int) -> None:
        for epoch in range(3):
            batches = [batch.asnumpy() for batch in loader]
            np.testing.assert_array_equal(np.concatenate(batches), np.arange(40))
            for batch in loader:  # an iterator that is dropped early
                assert batch.shape == (4,), (number, epoch)
                break

    all_at_once(3, read)
    loader._mx_stop_workers()


def test_an_epoch_whose_workers_were_stopped_says_so() -> None:
    loader = data.DataLoader(data.ArrayDataset(np.arange(40.0)), batch_size=4, num_workers=1)
    batches = iter(loader)
    next(batches)
    loader._mx_stop_workers()  # as an iteration in another thread does that was interrupted
    with pytest.raises(mx.MXNetError, match=r"workers of this DataLoader were stopped.*new epoch"):
        next(batches)
    assert len(list(loader)) == 10
