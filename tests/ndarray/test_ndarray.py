"""NDArray: dtypes, contexts, copies, exchange with other libraries, errors."""

from __future__ import annotations

import ctypes
import operator
import pickle
from typing import Any

import jax
import numpy as np
import pytest

import mixnet as mx
from mixnet import nd
from tests.each_record import each_record

DTYPES = ["float16", "bfloat16", "float32", "float64", "int8", "uint8", "int32", "int64", "bool"]


@each_record("dtype", DTYPES)
def test_dtypes_are_preserved_without_changing_the_configuration_of_jax(dtype: str) -> None:
    before = jax.config.jax_enable_x64
    array = nd.array([0, 1, 1], dtype=dtype)
    assert np.dtype(array.dtype).name == dtype
    assert array.asnumpy().dtype.name == dtype
    assert np.dtype(array.copy().dtype).name == dtype
    assert np.dtype(array.astype("float32").dtype).name == "float32"
    assert jax.config.jax_enable_x64 == before


def test_64_bit_values_are_exact() -> None:
    big = nd.array(np.array([2**53 - 1]), dtype="int64") + 1
    assert big.asnumpy()[0] == 2**53
    assert (nd.array([1.0], dtype="float64") + 1e-12).asnumpy()[0] == 1 + 1e-12


def test_integers_convert_the_scalar_to_their_dtype() -> None:
    # as MXNet 1.9.1 computes them
    a = nd.array([1, 2, 3], dtype="int32")
    np.testing.assert_array_equal((a * 1.5).asnumpy(), [1, 2, 3])
    np.testing.assert_array_equal((a / 2).asnumpy(), [0, 1, 1])
    np.testing.assert_array_equal((1 - a).asnumpy(), [0, -1, -2])
    np.testing.assert_array_equal((a.astype("uint8") + 300).asnumpy(), [45, 46, 47])


def test_text_form_is_mxnets() -> None:
    assert repr(nd.zeros((2, 3))) == "\n[[0. 0. 0.]\n [0. 0. 0.]]\n<NDArray 2x3 @cpu(0)>"
    assert repr(nd.array([1, 2], dtype="int64")) == "\n[1 2]\n<NDArray 2 @cpu(0)>"


def test_html_shows_whether_an_array_is_pending_without_computing_it() -> None:
    array = nd.ones((2, 3)) * 2
    assert "pending" in array._repr_html_() and "<svg" not in array._repr_html_()
    array.wait_to_read()
    assert "ready" in array._repr_html_() and array._repr_html_().count("<rect") == 6


def test_html_tells_the_numbers_of_small_arrays_and_the_range_of_all() -> None:
    small = nd.array([[1, 2.5], [3, -4]])
    assert "[[ 1.   2.5]\n [ 3.  -4. ]]</pre>" in small._repr_html_()
    assert "-4 … 3</span>" in small._repr_html_()
    numbers = np.zeros((100, 100), "float32")
    numbers[3, 3] = 7  # between the cells of the heat map
    numbers[5, 5], numbers[6, 6] = np.nan, np.inf
    large = nd.array(numbers)._repr_html_()
    assert "0 … 7, 2 not finite</span>" in large and "<pre" not in large
    assert '">1 not finite</span>' in nd.array([np.nan])._repr_html_()


def test_arrays_are_on_the_context_that_was_passed() -> None:
    with mx.cpu(1):
        a = nd.ones((2,))
    assert a.context == mx.cpu(1) and mx.current_context() == mx.cpu(0)
    b = a.as_in_context(mx.cpu(0))
    assert b.context == mx.cpu(0) and a.as_in_context(mx.cpu(1)) is a
    np.testing.assert_array_equal((b + 1).asnumpy(), 2)


def test_arrays_of_several_cpus_are_computed_on_the_first_ones() -> None:
    near, far = nd.array([1, 2]), nd.array([3, 4], ctx=mx.cpu(1))
    far.attach_grad()
    with mx.autograd.record():
        product = (near + far) * far
    product.backward()
    assert product.context == mx.cpu(0) and far.grad.context == mx.cpu(1)
    np.testing.assert_array_equal(product.asnumpy(), [12, 24])
    np.testing.assert_array_equal(far.grad.asnumpy(), [7, 10])  # near + 2 * far
    far -= near
    assert far.context == mx.cpu(1)
    np.testing.assert_array_equal(far.asnumpy(), [2, 2])
    np.testing.assert_array_equal(nd.dot(near, far).asnumpy(), [6])


def test_arrays_of_the_other_interface_are_refused() -> None:
    classic, numpys = nd.ones((2,)), mx.np.ones((2,))
    for call in (
        lambda: mx.np.exp(classic),
        lambda: mx.np.add(classic, classic),
        lambda: mx.np.add(numpys, classic),
        lambda: mx.np.concatenate([numpys, classic]),
        lambda: mx.npx.relu(classic),
        lambda: numpys + classic,
        lambda: numpys == classic,
    ):
        with pytest.raises(TypeError, match=r"takes arrays of mx\.np, .* array\.as_np_ndarray\(\)"):
            call()
    for call in (lambda: nd.exp(numpys), lambda: nd.dot(classic, numpys), lambda: classic + numpys):
        with pytest.raises(TypeError, match=r"takes arrays of mx\.nd, .* array\.as_nd_ndarray\(\)"):
            call()
    with pytest.raises(TypeError, match=r"takes arrays of mx\.nd"):
        classic += numpys
    np.testing.assert_array_equal((classic.as_np_ndarray() + numpys).asnumpy(), 2)


@pytest.mark.skipif("mx.num_gpus() > 0", reason="this machine has a GPU, so mx.gpu(0) exists")
def test_a_missing_gpu_is_a_clear_error() -> None:
    with pytest.raises(mx.MXNetError, match=r"gpu\(0\) does not exist.*mx.cpu\(\)"):
        nd.zeros((2,), ctx=mx.gpu(0))


def test_copies_are_independent() -> None:
    source = np.zeros(4, "float32")
    a = nd.array(source)
    source[:] = 9
    assert a.sum().asscalar() == 0
    b, c = a.copy(), nd.zeros((4,))
    a.copyto(c)
    a[:] = 1
    assert b.sum().asscalar() == 0 and c.sum().asscalar() == 0
    out = a.asnumpy()
    out[:] = 5
    assert a.sum().asscalar() == 4


def test_a_copy_to_the_array_itself_is_a_warning() -> None:
    a = nd.ones((2,))
    a.attach_grad()
    with mx.autograd.record():
        b = a * 2
        with pytest.warns(RuntimeWarning, match="are the same array"):
            assert b.copyto(b) is False
    b.backward()
    assert a.grad.asnumpy().tolist() == [2, 2]


@pytest.mark.parametrize("shape", [(1, 2, 3), (2, 2, 3)])
def test_an_in_place_result_of_another_shape_is_an_error(shape: tuple[int, ...]) -> None:
    a = nd.ones((2, 3))
    with pytest.raises(mx.MXNetError, match=r"cannot be written to an array of shape \(2, 3\)"):
        a += nd.ones(shape)
    assert a.sum().asscalar() == 6


def test_exchange_with_numpy_and_jax() -> None:
    a = nd.array([[1, 2], [3, 4]])
    np.testing.assert_array_equal(np.asarray(a), [[1, 2], [3, 4]])
    np.testing.assert_array_equal(jax.numpy.asarray(a), a.asnumpy())
    np.testing.assert_array_equal(np.from_dlpack(a), a.asnumpy())
    shared = nd.from_dlpack(jax.numpy.arange(3.0))
    np.testing.assert_array_equal((shared + 1).asnumpy(), [1, 2, 3])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(a)).asnumpy(), a.asnumpy())


def test_capsules_are_taken_once() -> None:
    a = nd.array([[1, 2], [3, 4]])
    capsule = a.to_dlpack_for_read()
    np.testing.assert_array_equal((nd.from_dlpack(capsule) * 2).asnumpy(), [[2, 4], [6, 8]])
    with pytest.raises(ValueError, match="takes a capsule once"):
        nd.from_dlpack(capsule)
    numbers = nd.from_dlpack(nd.to_dlpack_for_write(nd.arange(3, dtype="int32")))
    assert numbers.dtype == np.int32 and numbers.asnumpy().tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match="__dlpack__"):
        nd.from_dlpack(3)


def test_a_buffer_that_jax_holds_is_not_reused() -> None:
    a = nd.ones((200, 200))
    array = a.__jax_array__()
    a += 1
    a.wait_to_read()
    assert float(array.sum()) == 40000


def test_arrays_of_one_element_convert_to_numbers() -> None:
    assert nd.array([3.5]).asscalar() == 3.5
    assert float(nd.array([3.5])) == 3.5 and int(nd.array([3])) == 3
    assert bool(nd.array([0.0])) is False
    with pytest.raises(mx.MXNetError, match="one element"):
        nd.ones((2,)).asscalar()
    with pytest.raises(mx.MXNetError, match="ambiguous"):
        bool(nd.ones((2,)))


@each_record(
    ("call", "text"),
    [
        (
            lambda: nd.zeros((2, 3)) + nd.zeros((4, 5)),
            r"broadcast_add: shapes \(2, 3\) and \(4, 5\)",
        ),
        (
            lambda: nd.ones((2,), dtype="int32") + nd.ones((2,)),
            "left array is int32, the right one float32",
        ),
        (
            lambda: nd.Activation(nd.zeros((2,)), act_type="foo"),
            "act_type='foo' is not one of 'relu'",
        ),
        (
            lambda: nd.FullyConnected(
                nd.zeros((2, 3)), nd.zeros((4, 3)), num_hiden=4, no_bias=True
            ),
            "Did you mean 'num_hidden'",
        ),
        (
            lambda: nd.FullyConnected(
                nd.zeros((2, 3)), nd.zeros((4, 5)), num_hidden=4, no_bias=True
            ),
            r"weight \(4, 5\) takes 5 numbers per sample, but data \(2, 3\) has 3",
        ),
        (lambda: nd.FullyConnected(nd.zeros((2, 3)), num_hidden=4), "array 'weight' was not given"),
        (lambda: nd.array("text"), "takes numbers"),
        (lambda: nd.zeros((2,), dtype="float31"), "'float31' is not a data type"),
        (lambda: nd.zeros((2, 3)).reshape((4, 2)), r"6 elements of shape \(2, 3\)"),
        (lambda: nd.relu([1, 2]), "data must be an NDArray, not list"),
        (lambda: nd.NDArray(), "use mx.nd.array"),
        (lambda: nd.zeros((2, 0)), "has no elements"),
    ],
)
def test_wrong_calls_say_what_was_passed_and_expected(call, text) -> None:
    with pytest.raises(mx.MXNetError, match=text):
        call()


@pytest.mark.parametrize("result", ["abc", 3, np.ones(2)])
def test_a_result_that_is_no_array_is_an_attribute_error(result: object) -> None:
    x = nd.ones((2,))
    for call in (nd.rint, x.tan):
        with pytest.raises(AttributeError, match="out must be an NDArray") as raised:
            call(x, out=result) if call is nd.rint else call(out=result)
        assert isinstance(raised.value, TypeError)  # as MXNet raises for a number
    with pytest.raises(AttributeError, match=r"rint got 1 value\(s\) after its attributes"):
        x.rint((2, 3))


def test_numpy_arrays_are_refused_as_operands() -> None:
    for mixed in (lambda: nd.ones((2,)) + np.ones(2), lambda: np.ones(2) * nd.ones((2,))):
        with pytest.raises(TypeError):
            mixed()
    assert nd.array([300.0, -1.0]).astype("uint8").asnumpy().tolist() == [44, 255]


def test_an_unknown_operator_names_the_nearest() -> None:
    with pytest.raises(AttributeError, match="Did you mean 'Convolution'"):
        _ = nd.Convolutoin


def test_operators_have_names_and_docstrings() -> None:
    import inspect

    parameters = list(inspect.signature(nd.FullyConnected).parameters)
    assert parameters[:6] == ["data", "weight", "bias", "num_hidden", "no_bias", "flatten"]
    assert "Affine map" in nd.FullyConnected.__doc__
    assert {"FullyConnected", "Convolution", "relu", "array"} <= set(dir(nd))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64"])
def test_the_mean_of_integers_is_an_integer(dtype: str) -> None:
    actual = mx.nd.array([5, 2], dtype=dtype).mean()
    assert actual.asnumpy().tolist() == [3]


def test_flatten_is_a_copy_unless_in_place() -> None:
    x = nd.zeros((2, 3, 2))
    x.flatten()[:] = 1
    assert x.sum().asscalar() == 0
    x.flatten(inplace=True)[:] = 1
    assert x.sum().asscalar() == 12


def test_an_array_without_elements_is_false() -> None:
    assert not nd.array([])


def test_an_array_from_a_handle() -> None:
    """In programs written for MXNet, callbacks of monitors make arrays from their handles."""
    array = nd.array([1.0, 2, 3])
    for handle in (array.handle, array, ctypes.cast(array, ctypes.c_void_p)):
        again = nd.NDArray(handle, writable=False)
        assert again is not array
        assert again.asnumpy().tolist() == array.asnumpy().tolist()
        again[0] += 5
        array[1] += 1
        assert again.asnumpy().tolist() == array.asnumpy().tolist()
    assert array.asnumpy().tolist() == [16, 5, 3]
    for wrong in (3, [1, 2], ctypes.c_void_p(1), nd.zeros((2, 2), stype="csr")):
        with pytest.raises(mx.MXNetError, match="takes only the handle of a dense array"):
            nd.NDArray(wrong)


ERRORS = [  # with the class that MXNet 1.9.1 raises
    (lambda x: x.broadcast_to((2, 4)), "ValueError"),
    (lambda x: x.broadcast_to((3,)), "ValueError"),
    (lambda x: x.reshape(4), "MXNetError"),
    (lambda x: x.reshape(2), "ValueError"),
    (lambda x: x.reshape(), "AssertionError"),
    (lambda x: x.tostype("wide"), "MXNetError"),
    (lambda x: nd.save("unused", 3), "ValueError"),
    (lambda x: nd.save("unused", None), "ValueError"),
    (lambda x: nd.concatenate([]), "AssertionError"),
    (lambda x: nd.concatenate([x, x[0]]), "AssertionError"),
    (lambda x: nd.concatenate([x, x.astype("float64")]), "AssertionError"),
    (lambda x: nd.concatenate([x, nd.ones((1, 4))]), "AssertionError"),
    (lambda x: nd.moveaxis(x, 0, 5), "ValueError"),
    (lambda x: nd.add(x), "TypeError"),
    (lambda x: nd.add("a", x), "AssertionError"),
    (lambda x: nd.add(x, [1, 2]), "TypeError"),
    (lambda x: nd.maximum("a", 1), "AssertionError"),
    (lambda x: nd.concat(x, x, num_args=1), "MXNetError"),
    (lambda x: nd.stack(x, num_args=2), "MXNetError"),
    (lambda x: nd.multi_sum_sq(x, num_arrays=2), "MXNetError"),
    (lambda x: nd.broadcast_like(x[0], nd.ones((2, 3))), "MXNetError"),
    (lambda x: nd.broadcast_like(x, x, lhs_axes=(), rhs_axes=()), "MXNetError"),
    (lambda x: nd.broadcast_like(x, x, lhs_axes=(1,), rhs_axes=(1,)), "MXNetError"),
    (lambda x: nd.broadcast_like(x, x, lhs_axes=(0,), rhs_axes=(0, 1)), "MXNetError"),
]


@each_record(("call", "name"), ERRORS)
def test_errors_have_the_classes_of_mxnet(call: Any, name: str) -> None:
    with pytest.raises(mx.MXNetError) as raised:
        call(nd.ones((1, 3)))
    assert raised.type.__name__ == name


def test_a_single_array_is_joined_as_it_is() -> None:
    x = nd.ones((2, 3))
    assert nd.concatenate([x], always_copy=False) is x
    assert nd.concatenate([x]) is not x
    assert nd.concatenate([x, nd.ones((2, 4))], axis=1, always_copy=False).shape == (2, 7)


def test_broadcasting_puts_axes_in_front() -> None:
    row = nd.array([1, 2])
    assert row.broadcast_to((2, 2)).asnumpy().tolist() == [[1, 2], [1, 2]]
    assert row.reshape((1, 2)).broadcast_to((2, 1, 2)).shape == (2, 1, 2)


def test_axes_repeated_as_those_of_another_array() -> None:
    column, wide = nd.array([[1], [2]]), nd.ones((3, 5))
    for right, extent in ((1, 5), (0, 3), (-2, 3)):
        repeated = nd.broadcast_like(column, wide, lhs_axes=(1,), rhs_axes=(right,))
        assert repeated.asnumpy().tolist() == [[1] * extent, [2] * extent]


def test_len_without_axes_is_an_index_error() -> None:
    with pytest.raises(IndexError, match="without axes"):
        len(nd.array(3))
    with pytest.raises(TypeError, match="without axes"):
        len(mx.np.array(3.0))


def test_histogram_without_a_range_warns_that_numpy_counts() -> None:
    with pytest.warns(UserWarning, match="range"):
        counts, edges = mx.nd.histogram(mx.nd.array([0.0, 1.0, 1.0]), bins=2)
    assert counts.asnumpy().tolist() == [1, 2]
    assert edges.asnumpy().tolist() == [0, 0.5, 1]


@each_record("other", [None, "a", [1, 2], (1, 2), {}, object(), b"a", 1j, mx.cpu()])
def test_an_array_compares_with_arrays_and_numbers_alone(other: object) -> None:
    """A plain False could be mistaken for a result; MXNet also refuses other operands."""
    array = nd.array([1, 2])
    for compare in (operator.eq, operator.ne, operator.lt, operator.ge):
        with pytest.raises(TypeError, match="takes arrays and numbers, not"):
            compare(array, other)
    with pytest.raises(TypeError, match="takes arrays and numbers"):
        assert other == array


def test_an_array_with_several_elements_does_not_convert_to_a_number() -> None:
    for array in (nd.array([1, 2]), mx.np.array([1, 2])):
        for kind in (int, float):
            with pytest.raises(TypeError, match=r"one element is a number.*\(2,\)"):
                kind(array)
    assert int(nd.array([3])) == 3 and float(mx.np.array([2.5])) == 2.5


def test_names_of_errors_of_reshape() -> None:
    """Those of MXNet 1.9.1: more elements are an MXNetError, fewer a ValueError."""
    cases = {(4, 3): "MXNetError", (0, 3): "MXNetError", (3, -1): "ValueError", (2,): "ValueError"}
    for shape, name in cases.items():
        with pytest.raises(ValueError, match=r"reshape|Reshape") as caught:
            mx.nd.ones((4,)).reshape(shape)
        assert type(caught.value).__name__ == name, shape
    loss = mx.gluon.loss.L2Loss()
    for label, name in ((4, "MXNetError"), (20, "ValueError")):
        with pytest.raises(ValueError, match="same number of elements") as caught:
            loss(mx.nd.ones((4, 3)), mx.nd.ones((label,)))
        assert type(caught.value).__name__ == name, label


def test_the_mean_of_booleans_is_true_where_one_is() -> None:
    for values, mean in (([1, 0, 0], True), ([0, 0], False)):
        result = nd.mean(nd.array(values, dtype="bool"))
        assert result.dtype == np.bool_
        assert result.asnumpy().tolist() == [mean]


@pytest.mark.parametrize("shape", [(), []])
def test_one_element_is_reshaped_to_an_array_without_axes(shape: Any) -> None:
    number = nd.array([[3.0]]).reshape(shape)
    assert (number.shape, number.asscalar()) == ((), 3.0)
    assert repr(number) == "\n3.0\n<NDArray  @cpu(0)>"  # as MXNet prints it
    with pytest.raises(ValueError, match=r"4 elements of shape \(4,\) do not fit into \(\)"):
        nd.arange(4).reshape(shape)


def test_a_shape_by_position_is_preferred() -> None:
    assert nd.arange(4).reshape((2, 2), shape=(4, 1)).shape == (2, 2)


@pytest.mark.parametrize(
    "values",
    [[1, 2], (1, 2), nd.array([1, 2]), np.array([[1], [2]])],
    ids=["list", "tuple", "array", "numpy"],
)
def test_full_of_an_array_broadcasts_it(values: Any) -> None:
    stated = values.asnumpy() if isinstance(values, nd.NDArray) else values
    filled = nd.full((2, 2), values, dtype="int32")
    assert filled.dtype == np.int32
    assert filled.asnumpy().tolist() == np.full((2, 2), stated).tolist()
    out = nd.zeros((2, 2))
    assert nd.full((2, 2), values, out=out) is out
    assert out.asnumpy().tolist() == filled.asnumpy().tolist()


def test_full_refuses_what_does_not_broadcast() -> None:
    with pytest.raises(ValueError, match=r"\(3,\)"):
        nd.full((2,), [1, 2, 3])
    with pytest.raises(TypeError, match="full: val='a' is not a number"):
        nd.full((2,), "a")
