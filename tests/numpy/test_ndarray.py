"""``mx.np.ndarray``: gradients of functions, views, properties of indexing; the methods and operators
stand in the table of ``functions.py``."""

from __future__ import annotations

import copy
import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as onp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from hypothesis.extra import numpy as some_arrays

import mixnet as mx
from mixnet import autograd, np, npx
from tests.each_record import each_record

STORED = json.loads(
    (Path(__file__).parent.parent / "parity" / "fixtures" / "np_functions.json").read_text()
)


@pytest.fixture(autouse=True)
def _numpy_semantics():
    npx.set_np()
    yield
    npx.reset_np()


# ---- gradients -------------------------------------------------------------------------------------

RNG = onp.random.default_rng(5)
EXPLICIT = {
    "a": RNG.uniform(-2, 2, (2, 3)),
    "b": RNG.uniform(-2, 2, (2, 3)),
    "p": RNG.uniform(0.1, 0.9, (2, 3)),
    "g": RNG.uniform(1.1, 3, (2, 3)),
    "v": RNG.uniform(-2, 2, (3,)),
    "c": RNG.uniform(-2, 2, (3, 2)),
    "t": RNG.uniform(-2, 2, (2, 3, 4)),
    "s": onp.array([[4, 1, 0.5], [1, 3, 0.2], [0.5, 0.2, 2]]),
    "d": onp.array(1.3),
    "n": RNG.uniform(-1, 1, (4, 3)),
    "k": RNG.uniform(-1, 1, (1, 2, 5, 5)),
    "w": RNG.uniform(-1, 1, (3, 2, 3, 3)),
}
SMOOTH = {
    "a": "abs absolute fabs square cbrt negative exp expm1 sin cos tan arctan sinh cosh tanh arcsinh "
    "degrees rad2deg radians deg2rad nan_to_num",
    "p": "arcsin arccos arctanh",
    "g": "sqrt reciprocal log log2 log10 log1p arccosh",
}
REDUCED = "sum prod max min amax amin mean std var"
GRADIENTS = [
    *[f"np.{name}({x})" for x, names in SMOOTH.items() for name in names.split()],
    *[
        f"np.{name}({x})"
        for name in [
            "add",
            "subtract",
            "multiply",
            "divide",
            "true_divide",
            "maximum",
            "minimum",
            "hypot",
            "arctan2",
            "copysign",
        ]
        for x in ("a, v", "a, 1.5", "1.5, g", "d, v")
    ],
    "np.power(g, a)",
    "np.power(a, 3)",
    "np.power(2.0, a)",
    "np.mod(a, g)",
    "np.mod(a, 1.5)",
    "np.ldexp(a, v)",
    "np.clip(a, -1, 1)",
    "np.true_divide(a, d)",
    "a + v",
    "a - 2",
    "2 - a",
    "a * v",
    "a / g",
    "1 / g",
    "g ** 2",
    "g ** v",
    "2 ** a",
    "-a",
    "abs(a)",
    "a @ c",
    "v @ c",
    "a.T @ a",
    *[
        f"np.{name}(t{axis})"
        for name in REDUCED.split()
        for axis in ("", ", axis=1", ", axis=(0, -1)", ", axis=2, keepdims=True")
    ],
    "np.std(a, ddof=1)",
    "np.average(a, axis=1, weights=v)",
    "np.average(a)",
    "np.cumsum(a)",
    "np.cumsum(t, axis=1)",
    "np.diff(t, axis=1)",
    "np.diff(v, n=2)",
    "np.ediff1d(a, to_end=d)",
    "np.trace(s)",
    "np.trace(t, 1, 1, 2)",
    "np.diag(v, 1)",
    "np.diag(s)",
    "np.diagonal(t)",
    "np.diagflat(v)",
    "np.tril(s)",
    "np.reshape(t, (4, 6))",
    "np.ravel(t)",
    "np.transpose(t, (2, 0, 1))",
    "np.swapaxes(t, 0, 2)",
    "np.moveaxis(t, 0, -1)",
    "np.rollaxis(t, 2)",
    "np.expand_dims(a, 1)",
    "np.squeeze(t[:1])",
    "np.broadcast_to(v, (2, 3))",
    "np.concatenate([a, b, v.reshape((1, 3))])",
    "np.stack([a, b], axis=1)",
    "np.vstack([v, a])",
    "np.hstack([a, b])",
    "np.dstack([a, b])",
    "np.column_stack([v, v])",
    "np.append(a, v)",
    "np.split(a, 3, axis=1)[1]",
    "np.array_split(t, 3, axis=2)[0]",
    "np.hsplit(a, 3)[2]",
    "np.vsplit(a, 2)[0]",
    "np.dsplit(t, 2)[1]",
    "np.repeat(a, 2, axis=1)",
    "np.tile(a, (2, 2))",
    "np.flip(a, 1)",
    "np.flipud(a)",
    "np.fliplr(a)",
    "np.roll(a, 1, axis=1)",
    "np.rot90(a)",
    "np.atleast_3d(a)",
    "np.pad(a, ((1, 1), (0, 2)))",
    "np.pad(a, ((0, 0), (1, 1)), mode='reflect')",
    "np.pad(a, ((0, 0), (1, 1)), mode='edge')",
    "np.where(a > 0, a, b)",
    "np.where(a > 0, a, 0)",
    "np.take(a, np.array([0, 4], dtype='int32'))",
    "np.take(a, np.array([1, 1], dtype='int32'), axis=1)",
    "np.sort(a, axis=0)",
    "np.delete(a, 1, axis=1)",
    "np.insert(a, 1, v, axis=0)",
    "np.dot(a, c)",
    "np.dot(v, v)",
    "np.matmul(a, c)",
    "np.inner(a, b)",
    "np.outer(v, v)",
    "np.vdot(a, b)",
    "np.tensordot(t, a, ((0, 1), (0, 1)))",
    "np.einsum('ij,jk->ki', a, c)",
    "np.einsum('ii', s)",
    "np.polyval(v, a)",
    "np.full((2, 2), d)",
    "np.meshgrid(v, v)[0]",
    "np.broadcast_arrays(v, a)[0]",
    "np.resize(a, (3, 3))",
    "np.copy(a)",
    "np.percentile(a, 30) * 0 + np.sum(a)",
    "np.linalg.norm(a)",
    "np.linalg.norm(a, 1, axis=1)",
    "np.linalg.norm(a, 'fro')",
    "np.linalg.norm(v, 3)",
    "np.linalg.inv(s)",
    "np.linalg.det(s)",
    "np.linalg.slogdet(s)[1]",
    "np.linalg.solve(s, c)",
    "np.linalg.cholesky(s @ s.T)",
    "np.linalg.svd(a)[1]",
    "np.linalg.multi_dot([a, c, a])",
    "np.linalg.matrix_power(s, 3)",
    "np.linalg.tensorinv(s, ind=1)",
    "np.linalg.tensorsolve(s, v)",
    "a[0]",
    "a[:, ::-1]",
    "a[..., None]",
    "t[0, 1:, ::2]",
    "a[[0, 1], [2, 2]]",
    "a[a > 0]",
    "t[:, [0, 0]]",
    "a.sum()",
    "t.mean(1)",
    "t.transpose(1, 0, 2)",
    "a.reshape(3, 2)",
    "a.flatten()",
    "a.astype('float64')",
    "a.copy()",
    "a.dot(c)",
    "a.std()",
    "a.cumsum(1)",
    "a.clip(-1, 1)",
    "a.norm()",
    "a.split(3, 1)[0]",
    "npx.relu(a)",
    "npx.sigmoid(a)",
    "npx.softmax(a)",
    "npx.log_softmax(a)",
    "npx.erf(a)",
    "npx.erfinv(p)",
    "npx.gamma(g)",
    "npx.gammaln(g)",
    "npx.smooth_l1(a)",
    "npx.activation(a, act_type='softrelu')",
    "npx.leaky_relu(a, act_type='elu')",
    "npx.batch_dot(t, t, transpose_b=True)",
    "npx.batch_flatten(t)",
    "npx.fully_connected(a, n, num_hidden=4, no_bias=True)",
    "npx.layer_norm(a, v, v)",
    "npx.convolution(k, w, kernel=(3, 3), num_filter=3, no_bias=True)",
    "npx.pooling(k, kernel=(2, 2), pool_type='avg')",
    "npx.reshape(t, (-5, 4))",
    "npx.pick(a, np.array([0, 2]))",
    "npx.gather_nd(a, np.array([[0, 1], [2, 0]], dtype='int64'))",
    "npx.slice(a, (0, 1), (2, 3))",
    "npx.sequence_mask(t, np.array([1, 2, 1]), use_sequence_length=True)",
    "npx.reshape_like(a, c)",
    "npx.embedding(np.array([0, 2]), n, 4, 3)",
    "npx.cast(a, dtype='float64')",
]


@each_record("text", GRADIENTS)
def test_gradients_of_numpy_arrays_are_computed(text: str) -> None:
    """Against differences of the weighted sum of the results, in float64."""
    names = [name for name in EXPLICIT if f" {name} " in _words(text)]

    def run(values: dict[str, Any]) -> Any:
        scope = {"np": np, "npx": npx, "d": np.array(1.3), **values}
        return eval(text, scope)

    arrays = {name: np.array(EXPLICIT[name]) for name in names}
    for each in arrays.values():
        each.attach_grad()
    with autograd.record():
        actual = run(arrays)
    weights = onp.random.default_rng(9).uniform(0.5, 1.5, actual.shape)
    actual.backward(np.array(weights, dtype=actual.dtype))

    def total(values: dict[str, onp.ndarray]) -> float:
        result = run({name: np.array(each) for name, each in values.items()})
        return float((result.asnumpy() * weights).sum())

    step = 1e-5
    for name in names:
        expected = onp.zeros(EXPLICIT[name].shape)
        for place in onp.ndindex(*EXPLICIT[name].shape):
            moved = []
            for sign in (1, -1):
                values = {k: EXPLICIT[k].copy() for k in names}
                values[name][place] += sign * step
                moved.append(total(values))
            expected[place] = (moved[0] - moved[1]) / (2 * step)
        gradient = arrays[name].grad
        assert type(gradient) is np.ndarray and gradient.shape == EXPLICIT[name].shape
        onp.testing.assert_allclose(
            gradient.asnumpy(), expected, rtol=2e-4, atol=2e-5, err_msg=f"{text}: of {name}"
        )


def _words(text: str) -> str:
    return " " + "".join(c if c.isalnum() or c in "_'" else " " for c in text) + " "


@each_record(
    "text",
    [
        "np.sign(a)", "np.floor(a)", "np.rint(a)", "np.fix(a)", "np.ceil(a)", "np.trunc(a)",
        "np.around(a)", "np.linalg.pinv(a)", "np.linalg.eigvalsh(a @ a.T)",
        "np.linalg.eigh(a @ a.T)[0]",
    ],
)  # fmt: skip
def test_no_gradient_where_mxnet_has_none(text: str) -> None:
    a = np.array(EXPLICIT["a"])
    a.attach_grad()
    with autograd.record():
        actual = eval(text) * 1.0
    actual.backward()
    assert not a.grad.asnumpy().any()


def test_functions_of_numpy_take_part_in_autograd() -> None:
    a = np.array([1.0, 2.0])
    a.attach_grad()
    with autograd.record():
        actual = onp.sum(onp.multiply(a, a)) + onp.linalg.norm(a)
    actual.backward()
    assert type(actual) is np.ndarray
    onp.testing.assert_allclose(a.grad.asnumpy(), [2 + 1 / 5**0.5, 4 + 2 / 5**0.5], rtol=1e-6)
    with pytest.raises(mx.MXNetError, match="has no gradient"), autograd.record():
        np.corrcoef(a * 2, a)


OF_THE_C_LIBRARY = {"handle", "__del__"}


@each_record("member", sorted({*STORED["members"]} - OF_THE_C_LIBRARY))
def test_the_class_has_what_mxnets_has(member: str) -> None:
    assert hasattr(np.ndarray, member)


# ---- views, identity, leaving -----------------------------------------------------------------------


def test_views_share_memory_and_copies_do_not() -> None:
    x = np.arange(6.0).reshape((2, 3))
    row, turned, flat, twin = x[1], x.reshape_view((3, 2)), x.flatten(), x.copy()
    # reshape copies, as in MXNet 1.9.1, in all its forms.
    copies = [x.reshape(3, 2), x.reshape((-1, 2)), np.reshape(x, (3, 2)), np.ravel(x).reshape(3, 2)]
    x[1] = 7
    assert row.tolist() == [7, 7, 7] and turned.tolist()[2] == [7, 7]
    assert all(each.tolist() == [[0, 1], [2, 3], [4, 5]] for each in copies)
    assert flat.tolist() == [0, 1, 2, 3, 4, 5] and twin[1].tolist() == [3, 4, 5]
    assert np.shares_memory(x, row) and not np.shares_memory(x[0], row)
    old = x.as_nd_ndarray()
    old[0] = 1
    assert type(old) is mx.nd.NDArray and x[0].tolist() == [1, 1, 1]
    assert type(old.as_np_ndarray()) is np.ndarray and x.as_np_ndarray() is x
    constant = x.detach()
    x[:] = 3
    assert constant.tolist() == [[3, 3, 3], [3, 3, 3]]


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "int32", "int64", "int8", "uint8", "bool"]
)
@pytest.mark.parametrize("shape", [(), (3,), (0, 3), (2, 1, 2)])
def test_arrays_survive_pickles_copies_and_files(dtype: str, shape: Any, tmp_path: Path) -> None:
    x = np.ones(shape, dtype=dtype)
    path = str(tmp_path / "x.params")
    npx.save(path, {"x": x})
    for each in (
        pickle.loads(pickle.dumps(x)),
        copy.copy(x),
        copy.deepcopy(x),
        npx.load(path)["x"],
    ):
        assert type(each) is np.ndarray and each.shape == shape and each.dtype == dtype
        assert (each.asnumpy() == x.asnumpy()).all()
    assert onp.asarray(x).dtype == dtype and x.asnumpy().shape == shape
    assert x.as_in_ctx(mx.cpu()) is x and x.copyto(mx.cpu()) is not x


def test_arrays_are_unhurried() -> None:
    x = np.ones((2, 2)) + 1
    assert hash(x) != hash(x + 1) and x.context == mx.cpu() and x.stype == "default"
    assert x.wait_to_read() is None
    assert x.attach_grad() is None and x.grad.tolist() == [[0, 0], [0, 0]]
    assert {x: 1}[x] == 1
    with pytest.raises(TypeError, match=r"numpy\.ndarray"):
        _ = x + onp.ones(2)
    with pytest.raises(TypeError, match="compares with arrays and numbers"):
        _ = x == [1, 2]
    with pytest.raises(ValueError, match="ambiguous"):
        bool(x)
    with pytest.raises(AttributeError):
        _ = x.fresh


def test_nansum_and_norm_follow_numpy() -> None:
    x = np.array([[1.0, onp.nan], [2.0, 4.0]])
    assert x.nansum().item() == 7 and x.nansum(axis=0).tolist() == [3, 4]
    assert np.array([3.0, 4.0]).norm().shape == ()


# ---- properties -------------------------------------------------------------------------------------

FAST = settings(max_examples=60, deadline=None)
SHAPES = some_arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


def _numbers(shape: Any) -> Any:
    return onp.arange(onp.prod(shape, dtype=int), dtype="float32").reshape(shape)


def _same(actual: Any, expected: Any) -> None:
    assert actual.shape == expected.shape
    onp.testing.assert_array_equal(actual.asnumpy(), expected)


@FAST
@given(some.data(), some_arrays.array_shapes(min_dims=1, max_dims=4, max_side=4))
def test_basic_indexing_is_numpys(data: Any, shape: Any) -> None:
    x = _numbers(shape)
    key = data.draw(some_arrays.basic_indices(shape, allow_newaxis=True))
    _same(np.array(x)[key], onp.asarray(x[key]))
    expected, result = x.copy(), np.array(x)
    value = _numbers(x[key].shape) + 100
    expected[key] = value
    result[key] = np.array(value)
    _same(result, expected)


@FAST
@given(some.data(), some_arrays.array_shapes(min_dims=1, max_dims=3, max_side=4))
def test_integer_array_indexing_is_numpys(data: Any, shape: Any) -> None:
    x = _numbers(shape)
    count = data.draw(some.integers(1, len(shape)))
    key = data.draw(some_arrays.integer_array_indices(shape[:count]))
    _same(np.array(x)[tuple(np.array(k) for k in key)], x[key])
    expected, result = x.copy(), np.array(x)
    expected[key] = -1
    result[key] = -1
    _same(result, expected)


@FAST
@given(some.data(), SHAPES)
def test_masks_select_and_assign_as_in_numpy(data: Any, shape: Any) -> None:
    x = _numbers(shape)
    mask = data.draw(some_arrays.arrays(bool, shape))
    result = np.array(x)
    _same(result[np.array(mask)], x[mask])
    expected = x.copy()
    expected[mask] = 5
    result[np.array(mask)] = 5
    _same(result, expected)


@FAST
@given(some.data(), SHAPES)
def test_reshape_and_transpose_are_numpys(data: Any, shape: Any) -> None:
    x = _numbers(shape)
    axes = data.draw(some.permutations(range(len(shape))))
    _same(np.array(x).transpose(*axes), x.transpose(*axes) if axes else x)
    expected = list(data.draw(some.permutations(shape)))
    if expected and x.size and data.draw(some.booleans()):
        expected[data.draw(some.integers(0, len(expected) - 1))] = -1
    _same(
        np.array(x).transpose(*axes).reshape(tuple(expected)), x.transpose(axes).reshape(expected)
    )


@FAST
@given(some_arrays.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3))
def test_broadcasting_is_numpys(shapes: Any) -> None:
    left, right = (_numbers(shape) for shape in shapes.input_shapes)
    for function in (lambda a, b: a + b, lambda a, b: a * b - 1, lambda a, b: a < b):
        _same(function(np.array(left), np.array(right)), onp.asarray(function(left, right)))


@FAST
@given(some.data(), SHAPES)
def test_reductions_are_numpys(data: Any, shape: Any) -> None:
    x = _numbers(shape)
    axis = data.draw(some.none() | some_arrays.valid_tuple_axes(len(shape)))
    keepdims = data.draw(some.booleans())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _same(np.array(x).sum(axis, keepdims=keepdims), x.sum(axis, keepdims=keepdims))
        _same((np.array(x) > 1).any(axis, keepdims=keepdims), (x > 1).any(axis, keepdims=keepdims))


@pytest.mark.parametrize("multiply", [np.dot, np.matmul])
def test_products_take_no_numbers(multiply):
    with pytest.raises(AssertionError, match="takes no numbers"):
        multiply(np.ones((2, 2)), 2)


def test_least_squares_take_the_default_that_numpy_had():
    a, b = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]), np.array([1.0, 2.0, 3.0])
    solution, *_ = np.linalg.lstsq(a, b, rcond="warn")
    onp.testing.assert_allclose(solution.asnumpy(), [1.4444444, 1.1111112], rtol=1e-5)


@each_record(
    "key",
    [
        # Shapes of MXNet 1.9.1.
        ((5,), (True, True), (1, 5)),
        ((5,), (True, False), (0, 5)),
        ((5,), (False, False), (0, 5)),
        ((5,), (0, True, True), (1,)),
        ((5,), (True, slice(None), True), (1, 5)),
        ((5,), (True, None, True), (1, 1, 5)),
        ((5,), (True, True, [0, 1]), (1, 2)),
        ((2, 3), (True, Ellipsis, True), (1, 2, 3)),
        ((2, 3), (True, True, 0), (1, 3)),
        ((2, 3), (True, False, slice(1, 2)), (0, 1, 3)),
        ((2, 3), (True, True, True), (1, 2, 3)),
        ((2, 3, 4), (True, True), (1, 2, 3, 4)),
    ],
)
def test_single_booleans_in_a_key_add_one_axis(key: tuple[Any, Any, Any]) -> None:
    shape, index, result = key
    array = np.arange(int(onp.prod(shape))).reshape(shape)
    assert array[index].shape == result
    assert array[index].size == onp.prod(result)
    values = array.asnumpy()
    onp.testing.assert_array_equal(array[index].asnumpy().ravel(), values[index].ravel())
    assert np.arange(5)[False, True].shape == (0, 5)  # as NumPy; MXNet counts the last one alone
