"""Isolated recording: recorded operations are returned, and the surrounding program does not change."""

from __future__ import annotations

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, nd
from mixnet.base import TraceError
from mixnet.runtime.trace.trace import Trace
from mixnet.stages.isolate import isolated


def operations() -> int:
    return mx.runtime.counters()["operations"]


def test_recorded_operations_do_not_run_and_are_counted() -> None:
    x = nd.ones((2, 3))
    x.wait_to_read()
    before = operations()
    with isolated() as scope:
        y = (x * 2 + 1).sum()
        (recorded,) = scope.programs()
    assert operations() == before
    assert [node.op.name for node in recorded.graph.nodes if node.op] == [
        "_mul_scalar", "_plus_scalar", "sum",
    ]  # fmt: skip
    assert [value.spec.shape for value in recorded.leaves] == [(2, 3)]
    assert recorded.scalars[:2] == [2.0, 1.0] and recorded.reason == "end"
    assert y.asscalar() == 18  # it can still be asked for


def test_unreferenced_results_are_not_part_of_the_program() -> None:
    with isolated() as scope:
        nd.ones((2,)) + 1
        assert scope.programs() == []


def test_pending_operations_of_the_caller_are_not_part_of_the_program() -> None:
    x = nd.ones((3,)) + 1
    with isolated() as scope:
        y = nd.zeros((3,)) + 5
        (recorded,) = scope.programs()
    z = x * 3
    assert len(recorded.operations) == 2
    np.testing.assert_array_equal(z.asnumpy(), 6)
    np.testing.assert_array_equal(y.asnumpy(), 5)


def test_writes_are_taken_back_also_through_views_and_states() -> None:
    x, base = nd.array([1.0, 2.0]), nd.array([[1.0, 2.0], [3.0, 4.0]])
    view = base[1]
    mean, variance = nd.zeros((2,)), nd.ones((2,))
    with isolated():
        x += 1
        x[:] = x * 2
        view[:] = 0
        with autograd.record():
            nd.BatchNorm(base, nd.ones((2,)), nd.zeros((2,)), mean, variance)
    np.testing.assert_array_equal(x.asnumpy(), [1, 2])
    np.testing.assert_array_equal(base.asnumpy(), [[1, 2], [3, 4]])
    np.testing.assert_array_equal(view.asnumpy(), [3, 4])
    np.testing.assert_array_equal(mean.asnumpy(), 0)
    np.testing.assert_array_equal(variance.asnumpy(), 1)


def test_gradients_are_taken_back_and_stay_as_fresh_as_they_were() -> None:
    x = nd.array([1.0, 2.0])
    x.attach_grad()
    with isolated() as scope:
        with autograd.record():
            y = (x * x).sum()
        y.backward()
        assert len(scope.programs()) == 1
    np.testing.assert_array_equal(x.grad.asnumpy(), 0)
    assert not x._link.mark.fresh
    with autograd.record():
        y = (x * x).sum()
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [2, 4])


def test_sparse_arrays_are_taken_back() -> None:
    weight = nd.ones((4, 2))
    weight.attach_grad(stype="row_sparse")
    with isolated():
        with autograd.record():
            y = nd.Embedding(nd.array([1, 3]), weight, 4, 2, sparse_grad=True).sum()
        y.backward()
    assert weight.grad.indices.shape == (0,)


def test_isolation_leaves_random_streams_unchanged() -> None:
    mx.random.seed(3)
    nd.random.uniform(shape=(2,)).wait_to_read()
    with isolated():
        nd.random.uniform(shape=(2,))
        mx.random.seed(77)
        nd.random.normal(shape=(2,))
    after = nd.random.uniform(shape=(2,)).asnumpy()
    mx.random.seed(3)
    nd.random.uniform(shape=(2,)).wait_to_read()
    np.testing.assert_array_equal(after, nd.random.uniform(shape=(2,)).asnumpy())


def test_a_value_that_is_read_runs_what_it_needs_and_ends_a_segment() -> None:
    x = nd.ones((2,))
    with isolated() as scope:
        y = x + 1
        assert y.asnumpy().tolist() == [2, 2]
        z = y * 3
        first, second = scope.programs()
    assert first.reason == "asnumpy" and second.reason == "end"
    assert [len(each.operations) for each in (first, second)] == [1, 1]
    np.testing.assert_array_equal(z.asnumpy(), 6)


def test_a_flush_ends_a_segment_without_running_it() -> None:
    x = nd.ones((2,))
    x.wait_to_read()
    before = operations()
    with isolated() as scope:
        y = x + 1
        mx.runtime.record.record.flush("because")
        z = y * 2
        mx.runtime.record.record.flush("again")
        w = z - 3
        recorded = scope.programs()
    assert operations() == before
    assert [each.reason for each in recorded] == ["because", "again", "end"]
    np.testing.assert_array_equal(w.asnumpy(), 1)  # runs all three, in their order


@pytest.mark.parametrize("cut", [True, False])
def test_a_bulk_size_ends_segments(cut: bool) -> None:
    x = nd.ones((2,))
    x.wait_to_read()
    with isolated() as scope:
        if cut:
            with mx.engine.bulk(2):
                y = x + 1 + 2 + 3 + 4
                lengths = [len(each.operations) for each in scope.programs()]
        else:
            y = x + 1 + 2 + 3 + 4
            lengths = [len(each.operations) for each in scope.programs()]
    assert lengths == ([2, 2] if cut else [4])
    np.testing.assert_array_equal(y.asnumpy(), 11)


def test_an_error_inside_leaves_everything_as_it_was() -> None:
    x = nd.array([1.0])
    with pytest.raises(ValueError, match="mine"), isolated():
        x += 1
        raise ValueError("mine")
    assert x.asscalar() == 1
    assert (x + 1).asscalar() == 2


def test_isolating_inside_a_trace_is_an_error() -> None:
    with Trace(), pytest.raises(TraceError), isolated():
        pass
