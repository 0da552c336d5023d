"""Work that fails half-way is undone."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest

from mixnet import nd
from mixnet.ndarray.sparse import row_sparse_array
from mixnet.runtime.value.change import Change, change
from mixnet.runtime.value.undo import all_or_nothing
from tests.waiting import join


class Counts:
    def __init__(self) -> None:
        self.by_name = {"a": 1}
        self.total = 1

    def _mx_changing(self) -> list[dict]:
        return [vars(self), self.by_name]


def fail() -> None:
    raise ZeroDivisionError


def test_arrays_views_and_attributes_get_their_contents_back() -> None:
    array, whole, counts = nd.ones((2,)), nd.zeros((2, 3)), Counts()
    rows = row_sparse_array((np.ones((1, 2)), [1]), shape=(3, 2))
    part = whole[1]

    def work() -> None:
        array[:] = 5
        array.__iadd__(1)
        part[:] = 2
        whole[0, 1] = 7
        rows[:] = 3
        counts.by_name["b"] = counts.by_name["a"] = 2
        counts.total += 1
        fail()

    with pytest.raises(ZeroDivisionError):
        all_or_nothing(work, [counts])
    np.testing.assert_array_equal(array.asnumpy(), [1, 1])
    np.testing.assert_array_equal(whole.asnumpy(), np.zeros((2, 3)))
    np.testing.assert_array_equal(part.asnumpy(), [0, 0, 0])
    np.testing.assert_array_equal(rows.asnumpy(), [[0, 0], [1, 1], [0, 0]])
    assert (counts.by_name, counts.total) == ({"a": 1}, 1)


def test_successful_and_later_writes_persist() -> None:
    array = nd.ones((2,))
    all_or_nothing(lambda: array.__iadd__(1))
    array += 1
    np.testing.assert_array_equal(array.asnumpy(), [3, 3])


def test_the_outer_scope_undoes_what_an_inner_one_has_done() -> None:
    array, other = nd.ones((2,)), nd.ones((2,))

    def inner() -> None:
        other.__iadd__(1)
        fail()

    def outer() -> None:
        array.__iadd__(1)
        with pytest.raises(ZeroDivisionError):
            all_or_nothing(inner, [Counts()])
        assert array.asnumpy()[0] == 2 and other.asnumpy()[0] == 1
        all_or_nothing(lambda: array.__iadd__(1), [Counts()])
        fail()

    with pytest.raises(ZeroDivisionError):
        all_or_nothing(outer)
    np.testing.assert_array_equal(array.asnumpy(), [1, 1])


def test_writes_of_another_thread_are_not_undone() -> None:
    array = nd.ones((2,))

    def work() -> None:
        array.__iadd__(1)
        thread = threading.Thread(target=lambda: array.__iadd__(10))
        thread.start()
        join(thread)
        fail()

    with pytest.raises(ZeroDivisionError):
        all_or_nothing(work)
    np.testing.assert_array_equal(array.asnumpy(), [12, 12])


def test_an_array_that_is_written_in_a_loop_keeps_only_its_first_content() -> None:
    array, other = nd.array([1, 2]), nd.zeros((2,))
    contents: list[weakref.ref] = []

    def inner() -> None:
        array[0] = 9
        array[1] = 8
        fail()

    def work() -> None:
        for i in range(5):
            array[i % 2] = array[0] + i
            other[:] = i
            contents.append(weakref.ref(array._value))
        gc.collect()
        assert [each() is None for each in contents] == [True] * 4 + [False]
        with pytest.raises(ZeroDivisionError):
            all_or_nothing(inner, [Counts()])
        assert array.asnumpy().tolist() == [7, 6]
        fail()

    with pytest.raises(ZeroDivisionError):
        all_or_nothing(work)
    assert (array.asnumpy().tolist(), other.asnumpy().tolist()) == ([1, 2], [0, 0])


def test_an_array_written_by_several_changes_of_several_arrays_gets_its_first_content_back() -> (
    None
):
    a, b, c = nd.array([1.0]), nd.array([2.0]), nd.array([3.0])

    def write(*arrays: nd.NDArray) -> None:
        def body(attempt: Change) -> None:
            for each in arrays:
                attempt.write(each, (each + 10)._value)

        change(body)

    def inner() -> None:
        write(b, c)
        fail()

    def work() -> None:
        write(a, b)
        write(b, c)
        with pytest.raises(ZeroDivisionError):
            all_or_nothing(inner, [Counts()])
        assert [a.asscalar(), b.asscalar(), c.asscalar()] == [11, 22, 13]
        write(c, a)
        fail()

    with pytest.raises(ZeroDivisionError):
        all_or_nothing(work)
    assert [a.asscalar(), b.asscalar(), c.asscalar()] == [1, 2, 3]


def test_flags_change_with_the_arrays_of_a_change() -> None:
    array, counts = nd.array([1.0]), Counts()

    def body(attempt: Change) -> None:
        attempt.set_flags([counts], "total", True)
        attempt.write(array, (array + 1)._value)

    def work() -> None:
        change(body)
        assert (counts.total, array.asscalar()) == (True, 2)
        fail()

    with pytest.raises(ZeroDivisionError):
        all_or_nothing(work)
    assert (counts.total, array.asscalar()) == (1, 1)
