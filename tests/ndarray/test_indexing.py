"""Indexing reads and writes like NumPy's; programs with writes and views have NumPy's results."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mixnet as mx
from mixnet import nd

SHAPE = (3, 4, 2)
QUICK = settings(max_examples=40, deadline=None)


def _slices(extent: int):
    bound = st.none() | st.integers(-extent - 1, extent + 1)
    return st.builds(slice, bound, bound, st.sampled_from([None, 1, 2, -1, -2]))


def _keys():
    one = [st.integers(-n, n - 1) | _slices(n) for n in SHAPE]
    full = st.tuples(*one) | st.tuples(*one[:2]) | st.tuples(one[0])
    with_new = st.tuples(one[0], st.none(), one[1])
    with_dots = st.tuples(st.just(Ellipsis), one[2])
    lists = st.lists(st.integers(-3, 2), min_size=1, max_size=4).map(lambda i: (i, slice(None)))
    pairs = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=4).map(
        lambda p: ([a for a, _ in p], [b for _, b in p])
    )
    return full | with_new | with_dots | lists | pairs | one[0]


def _data() -> np.ndarray:
    return np.arange(24, dtype="float32").reshape(SHAPE)


@QUICK
@given(_keys())
def test_reading_by_index_is_numpys(key) -> None:
    expected = _data()[key]
    if expected.size == 0:
        first = key[0] if isinstance(key, tuple) else key
        if isinstance(first, slice) and len(_data()[first]) == 0:
            begin, end, step = first.indices(SHAPE[0])
            if isinstance(key, tuple) or begin <= end or step != 1:
                assert nd.array(_data())[key].shape == expected.shape
                return
        with pytest.raises(mx.MXNetError, match="selects no element"):
            nd.array(_data())[key]
        return
    actual = nd.array(_data())[key]
    # mx.nd has no arrays without axes: a single element has shape (1,)
    assert actual.shape == (expected.shape or (1,))
    np.testing.assert_array_equal(actual.asnumpy().reshape(expected.shape), expected)


@QUICK
@given(_keys(), st.integers(0, 1))
def test_writing_by_index_is_numpys(key, kind) -> None:
    expected, array = _data(), nd.array(_data())
    shape = expected[key].shape
    if 0 in shape:
        return
    value = -1.5 if kind == 0 else -np.arange(np.prod(shape), dtype="float32").reshape(shape)
    if kind == 1 and isinstance(key, tuple) and any(isinstance(k, list) for k in key):
        value = -2.0  # which of several writes to one element wins is not NumPy's promise
    expected[key] = value
    array[key] = value if np.isscalar(value) else nd.array(value)
    np.testing.assert_array_equal(array.asnumpy(), expected)


STEPS = st.lists(
    st.sampled_from(
        ["view", "reshape", "add", "fill", "copy", "scale", "read", "item", "column", "store"]
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(STEPS, st.randoms(use_true_random=False))
def test_any_program_of_reads_writes_and_views(steps, random) -> None:
    """NumPy's views alias like ours where blocks are contiguous."""
    ours = [nd.array(np.arange(12, dtype="float32").reshape(3, 4))]
    theirs = [np.arange(12, dtype="float32").reshape(3, 4)]
    for step in steps:
        i = random.randrange(len(ours))
        a, b = ours[i], theirs[i]
        if step == "view" and len(b) > 1:
            start = random.randrange(len(b))
            stop = random.randint(start + 1, len(b))
            ours.append(a[start:stop])
            theirs.append(b[start:stop])
        elif step == "reshape":
            ours.append(a.reshape((-1,)))
            theirs.append(b.reshape(-1))
        elif step == "add":
            a += 1
            b += 1
        elif step == "scale":
            a *= -1
            b *= -1
        elif step == "fill":
            a[:] = 3
            b[:] = 3
        elif step == "copy":
            ours.append(a.copy())
            theirs.append(b.copy())
        elif step == "item":
            a[0] = 7
            b[0] = 7
        elif step == "column" and b.ndim == 2:
            a[:, 1] = 5
            b[:, 1] = 5
        elif step == "store":
            j = random.randrange(len(ours))
            if theirs[j].shape == b.shape:
                a[:] = ours[j]
                b[:] = theirs[j].copy()
        elif step == "read":
            np.testing.assert_array_equal(a.asnumpy(), b)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a.asnumpy(), b)


def test_a_slice_and_a_reshape_share_storage() -> None:
    a = nd.zeros((3, 4))
    a[1:3][:] = 1
    a.reshape((-1,))[0] = 5
    a[1:3][0][2:4] = 9
    expected = np.zeros((3, 4))
    expected[1:3] = 1
    expected.reshape(-1)[0] = 5
    expected[1, 2:4] = 9
    np.testing.assert_array_equal(a.asnumpy(), expected)


def test_boolean_masks_and_index_arrays() -> None:
    a = nd.array(_data())
    mask = _data() > 10
    np.testing.assert_array_equal(a[nd.array(mask, dtype="bool")].asnumpy(), _data()[mask])
    np.testing.assert_array_equal(a[nd.array([2, 0])].asnumpy(), _data()[[2, 0]])


@pytest.mark.parametrize("key", [np.array([1.0, 2.7]), [1.0, 2.0], np.array([-2, -1], "float16")])
@pytest.mark.parametrize("name", ["nd", "np"])
def test_arrays_of_floats_are_cut_to_integers(name: str, key) -> None:
    a = getattr(mx, name).array(_data())
    np.testing.assert_array_equal(a[key].asnumpy(), _data()[[1, 2]])
    np.testing.assert_array_equal(a[:, key].asnumpy()[:, 0], _data()[:, 1 if key[0] > 0 else 2])
    a[key] = 9
    assert (a[1:] == 9).asnumpy().all() and (a[0].asnumpy() == _data()[0]).all()


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (1.0, "integers, slices"),
        (np.array([np.nan]), "out of bounds"),
        (5, "index 5 is out of bounds for axis 0, which has 3"),
        ((0, 0, 0, 0), "too many indices: 4"),
        ([0, 3], "index 3 is out of bounds"),
        ("a", "integers, slices"),
    ],
)
def test_wrong_indices_are_errors(key, text) -> None:
    with pytest.raises(IndexError, match=text):
        nd.zeros(SHAPE)[key]


def test_slices_that_end_before_they_begin() -> None:
    x = nd.ones((3, 3, 4))
    shapes = [
        x[2:1, :].shape,
        x[2:1, 0].shape,
        x[1:0:2].shape,
        x[-1:0, 1].shape,
        x[2:1, None].shape,
    ]
    assert shapes == [(0, 3, 4), (0, 4), (0, 3, 4), (0, 4), (0, 1, 3, 4)]
    with pytest.raises(mx.MXNetError, match="selects no element"):
        x[2:1]


def test_a_value_that_does_not_fit_is_an_error_and_changes_nothing() -> None:
    a = nd.zeros((2, 3))
    with pytest.raises(mx.MXNetError, match=r"\(4,\) does not broadcast to \(2, 3\)"):
        a[:] = nd.ones((4,))
    assert a.sum().asscalar() == 0


@pytest.mark.parametrize("key", [slice(2, 5), (slice(None), slice(3, None)), slice(2, 2)])
def test_values_must_match_even_an_empty_selection(key) -> None:
    a = nd.zeros((2, 3))
    for value in (nd.ones((4, 4)), np.ones((4, 4)), nd.ones((5,)), [1.0, 2, 3, 4, 5]):
        with pytest.raises(ValueError, match="does not broadcast"):
            a[key] = value
    a[key] = 7
    a[key] = nd.ones((1,))
    assert a.sum().asscalar() == 0


def test_a_single_number_is_written_without_a_slice() -> None:
    a = mx.np.array(3.0)
    with pytest.raises(IndexError, match="too many indices"):
        a[:] = 4
    a[()] = 5
    assert a.item() == 5


def test_while_recording_a_wrong_index_is_named_before_the_graph() -> None:
    x, a = nd.ones((3,)), nd.ones((2, 3))
    x.attach_grad()
    with mx.autograd.record():
        with pytest.raises(IndexError, match="too many indices"):
            a[0, 0, 0] = x
        with pytest.raises(ValueError, match="does not broadcast"):
            a[:, :2] = x
        with pytest.raises(mx.MXNetError, match="computational graph"):
            a[1] = x


@pytest.mark.parametrize(
    ("shape", "key"), [((2,), slice(0, 2)), ((1, 2), 0), ((2, 2), (slice(None), slice(0, 2)))]
)
def test_while_recording_a_part_that_is_all_of_an_array_can_be_written(shape, key) -> None:
    x = nd.array([3, 4])
    x.attach_grad()
    a = nd.zeros(shape)
    for _ in range(2):  # backward frees the graph that the array is in
        with mx.autograd.record():
            a[key] = x * 2
            y = (a * a).sum()
        y.backward()
        assert x.grad.asnumpy().tolist() == [8 * 3 * (a.size // 2), 8 * 4 * (a.size // 2)]
    with mx.autograd.record():
        a[key] = 5
    assert a.asnumpy().tolist() == np.full(shape, 5).tolist()


def test_a_loop_over_positions_compiles_a_bounded_number_of_programs() -> None:
    a = nd.array(np.arange(400, dtype="float32").reshape(100, 4))
    a.wait_to_read()
    mx.runtime.reset_counters()
    total = 0.0
    for i in range(100):
        total += a[i].sum().asscalar()
    assert total == np.arange(400).sum()
    assert mx.runtime.counters()["programs_compiled"] <= 3


def test_small_parts_of_computed_arrays_record_nothing() -> None:
    a = mx.nd.array([[2**40, 3], [5, 2**50 + 1]], dtype="int64")
    a.wait_to_read()
    mx.runtime.reset_counters()
    assert [row.asnumpy().tolist() for row in a] == [[2**40, 3], [5, 2**50 + 1]]
    assert a[-1][1].asscalar() == 2**50 + 1 and a[0:1].shape == (1, 2)
    assert mx.runtime.counters()["operations"] == 0
    row = a[1]
    a += 1  # pending: now an operation reads the row
    assert (row + 0).asnumpy().tolist() == [6, 2**50 + 2]
    row[:] = 7
    assert a.asnumpy().tolist() == [[2**40 + 1, 4], [7, 7]]
    with pytest.raises(IndexError, match="index 2 is out of bounds for axis 0"):
        a[2]


def test_small_parts_of_variables_have_gradients() -> None:
    a = mx.nd.array([[1.0, 2.0], [3.0, 4.0]])
    a.attach_grad()
    outside = a[0]
    with mx.autograd.record():
        loss = (a[1] * a[1]).sum() + outside.sum()
    loss.backward()
    assert a.grad.asnumpy().tolist() == [[0, 0], [6, 8]]


@pytest.mark.parametrize("module", [mx.nd, mx.np])
def test_an_element_has_an_axis_unless_numpy_shapes_are_on(module) -> None:
    """One rule for both kinds of arrays, as in MXNet: shape (1,), and () after ``npx.set_np()``."""
    x = module.array([[1, 2], [3, 4]])
    assert [x[0, 1].shape, x[0][1].shape, x[-1, -1].shape, next(iter(x[1])).shape] == [(1,)] * 4
    assert str(x[0, 1].asnumpy()) == "[2.]"
    with mx.util.np_shape():
        assert [x[0, 1].shape, x[0][1].shape, x[-1, -1].shape, next(iter(x[1])).shape] == [()] * 4
        assert x[0, 1].asnumpy() == 2
        assert x[0, 0:1].shape == (1,)
    assert repr(nd.array([5.0])) == "\n[5.]\n<NDArray 1 @cpu(0)>"


def test_one_element_takes_the_shape_without_axes() -> None:
    assert nd.ones((1, 1)).reshape(()).shape == nd.ones((1,)).reshape([]).shape == ()
    with pytest.raises(ValueError, match="3 elements"):
        nd.ones((3,)).reshape(())
    with pytest.raises(AssertionError):
        nd.ones((1,)).reshape()


@pytest.mark.parametrize("module", [mx.nd, mx.np])
def test_all_of_an_array_is_the_array(module) -> None:
    x = module.ones((2, 3))
    assert x[:] is x[::1] is x[()] is x
    x.attach_grad()
    with mx.autograd.record():
        y = x[:] * 2
    y.backward()
    assert x[:].grad.asnumpy().tolist() == [[2] * 3] * 2
    x[:] += 1
    assert x.asnumpy().tolist() == [[2] * 3] * 2


def test_one_axis_has_no_other_order() -> None:
    """``T`` of such an array is the array, as in MXNet; ``transpose()`` is a copy."""
    x = nd.ones((3,))
    assert x.T is x
    x.transpose()[:] = 5
    assert x.asnumpy().tolist() == [1, 1, 1]
    y = nd.ones((1, 3))
    y.T[:] = 5
    assert y.asnumpy().tolist() == [[1, 1, 1]]


def test_parts_that_overlap() -> None:
    x = nd.arange(6)
    x[1:] = x[:-1]
    assert x.asnumpy().tolist() == [0, 0, 1, 2, 3, 4]
    x[:] = x[::-1]
    assert x.asnumpy().tolist() == [4, 3, 2, 1, 0, 0]


@pytest.mark.parametrize("key", [slice(None), slice(None, None, 1), (), ...])
def test_arrays_without_axes_are_read_and_written_as_a_whole(key: object) -> None:
    with mx.util.np_shape(True):
        array = nd.zeros(())
        assert array[key].shape == ()
        array[key] = 3
        assert array.asnumpy() == 3
        array[key] = nd.ones((1,))
        assert array.asnumpy() == 1


def test_arrays_of_numpy_without_axes_take_no_slice() -> None:
    array = mx.np.zeros(())
    with pytest.raises(IndexError, match="too many indices"):
        array[:] = 1
    with pytest.raises(IndexError, match="too many indices"):
        array[:]
