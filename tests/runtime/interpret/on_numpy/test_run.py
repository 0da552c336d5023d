"""Operators on NumPy arrays have the same results as on a device."""

from __future__ import annotations

import tracemalloc

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mixnet as mx
from mixnet.ops.registry import OPERATORS
from mixnet.runtime.interpret import on_numpy
from mixnet.runtime.interpret.on_numpy import run
from mixnet.runtime.record.host import on_host
from tests.each_record import each_record
from tests.parity.test_operators import CASES, CLOSE, _registered, _stored, _tuples

# One case of each operator that has numbers of MXNet, and needs neither gradients nor writing.
FIRST = {
    case["op"]: case
    for case in reversed(CASES)
    if "file" in case and "raises" not in case and "out" not in case
}


def test_operators_agree_with_mxnet_on_the_host() -> None:
    ran = 0
    some = sorted(FIRST)[::5]
    for case in (FIRST[name] for name in some):
        name = case["case"]
        stored = _stored(case["file"])
        inputs = [stored[f"{name}/in/{each}"] for each in case["inputs"]]
        attributes = {key: _tuples(value) for key, value in case["attrs"].items()}
        mode = mx.autograd.train_mode if case["train"] else mx.autograd.predict_mode
        with on_host(alone=True), mode():
            try:
                actual = getattr(mx.nd, _registered(case["op"]))(
                    *[mx.nd.array(each, dtype=each.dtype) for each in inputs], **attributes
                )
            except mx.MXNetError as error:
                assert "needs a device" in str(error), name
                continue
            outputs = actual if isinstance(actual, list) else [actual]
            close = {"rtol": 2e-3} if case.get("close") is None else case["close"]
            for i, output in enumerate(outputs):
                expected = stored[f"{name}/out/{i}"]
                assert (output.shape, output.dtype) == (expected.shape, expected.dtype), name
                near = close if expected.dtype == "float16" else case.get("close", CLOSE)
                np.testing.assert_allclose(output.asnumpy(), expected, err_msg=name, **near)
        ran += 1
    assert ran > 0.6 * len(some)


def test_random_numbers_are_those_of_the_device(monkeypatch) -> None:
    monkeypatch.setenv("MIXNET_RANDOM", "threefry")

    def draw() -> list[np.ndarray]:
        mx.random.seed(7)
        image = mx.nd.array(np.arange(12).reshape(2, 2, 3), dtype="uint8")
        draws = [
            mx.nd.random.uniform(shape=(3,)),
            mx.nd.random.normal(shape=(7, 2)),
            *[mx.nd.image.random_flip_left_right(image) for _ in range(9)],
            *[mx.nd.image.random_flip_top_bottom(image) for _ in range(9)],
        ]
        return [each.asnumpy() for each in draws]

    of_device = draw()
    with on_host(alone=True):
        of_numpy = draw()
    for one, other in zip(of_device, of_numpy, strict=True):
        np.testing.assert_array_equal(one, other)


@each_record(
    "function",
    [
        lambda x: jax.lax.while_loop(lambda v: v.sum() < 100, lambda v: v * 2, x),
        lambda x: jax.lax.scan(lambda c, r: (c + r, c * r), x[0], x)[1],
        lambda x: jax.lax.cond(x[0, 0] > 0, lambda v: v + 1, lambda v: v - 1, x),
        lambda x: jax.lax.switch(2, [jnp.sin, jnp.cos, jnp.tanh], x),
        lambda x: jax.vmap(lambda r: jax.lax.while_loop(lambda v: v[0] < 9, lambda v: v + 3, r))(x),
        lambda x: jnp.take_along_axis(x, jnp.argsort(x, 1), 1),
        lambda x: x.at[jnp.array([0, 2]), 1].add(5.0),
        lambda x: jnp.pad(x, ((1, 0), (2, 3)))[::-1, 1:],
        lambda x: jax.lax.pad(x, jnp.float32(0), ((-1, 2, 1), (0, -1, 0))),
        lambda x: jnp.einsum("ij,kj->ik", x, x),
        lambda x: (x * 1e20).astype(jnp.int32) + jnp.isnan(x / 0),
        lambda x: jnp.where(x > 0, x, -x).astype(jnp.int8) // 2,
        lambda x: jnp.median(x, 0),
        lambda x: jnp.cumsum(x, 0)[jnp.array([1, -1])],
    ],
)
def test_functions_agree_with_jax(function) -> None:
    x = np.random.RandomState(0).normal(size=(3, 4)).astype("float32")
    with jax.enable_x64(True):
        expected = np.asarray(jax.jit(function)(x))
    (actual,) = on_numpy.compiled(function, x)(x)
    assert actual.dtype == expected.dtype
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


@pytest.fixture
def gamma_of_jax():
    """An operator with a primitive that has no rule for NumPy."""

    @mx.ops.register("gamma_of_jax", differentiable=False)
    def draw(data, *, key):
        return jax.random.gamma(key, data, dtype=data.dtype)

    yield draw
    del OPERATORS["gamma_of_jax"]


def test_operations_without_a_numpy_rule_run_on_the_device(gamma_of_jax, monkeypatch) -> None:
    monkeypatch.setenv("MIXNET_RANDOM", "threefry")
    x = mx.nd.ones((2, 2))
    mx.random.seed(3)
    of_device = mx.nd.gamma_of_jax(x).asnumpy()
    mx.random.seed(3)
    with on_host():
        result = mx.nd.gamma_of_jax(x)
        np.testing.assert_array_equal((result + 1).asnumpy(), of_device + 1)
    np.testing.assert_array_equal((result * 2).asnumpy(), of_device * 2)
    with on_host(alone=True), pytest.raises(mx.MXNetError, match="gamma_of_jax needs a device"):
        mx.nd.gamma_of_jax(x)
    with on_host(alone=True), pytest.raises(mx.MXNetError, match="cannot put an array on gpu"):
        x.as_in_context(mx.gpu(0))


def test_arrays_of_the_host_can_be_used_on_the_device() -> None:
    with on_host():
        matrix = mx.nd.array([[1, 2], [3, 4]])
        matrix.wait_to_read()
        assert jnp.asarray(matrix).sum() == 10
        part = matrix[1]
        part[:] = 7  # the host's arrays are never written to: others may hold them
        later = matrix.T * 2
    matrix.attach_grad()
    with mx.autograd.record():
        total = (matrix * later).sum()
    total.backward()
    np.testing.assert_array_equal(matrix.asnumpy(), [[1, 2], [7, 7]])
    np.testing.assert_array_equal(matrix.grad.asnumpy(), later.asnumpy())
    with on_host(), mx.autograd.record():
        square = (matrix * matrix).sum()
    square.backward()
    np.testing.assert_array_equal(matrix.grad.asnumpy(), 2 * matrix.asnumpy())


def test_errors_on_the_host_are_those_of_the_operator() -> None:
    with on_host():
        x = mx.nd.ones((2, 3))
        with pytest.raises(mx.MXNetError, match="dot"):
            mx.nd.dot(x, x)
        with pytest.raises(mx.MXNetError, match="has no argument"):
            mx.nd.softmax(x, slope=1)
        actual = mx.nd.contrib.foreach(lambda row, s: (row + s, s + row), x, mx.nd.zeros((3,)))
        np.testing.assert_array_equal(actual[1].asnumpy(), [2, 2, 2])
        assert mx.nd.contrib.boolean_mask(x, mx.nd.array([0, 1])).shape == (1, 3)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: jax.nn.sigmoid(x * y) * (1 - y),
        lambda x, y: [x.sum(), (x + y).max(0), jnp.arange(5) + 1],
        lambda x, y: jax.lax.sort((x, y), num_keys=1),
        lambda x, y: [part * 2 for part in jnp.split(x.T + y.T, 2)],
        lambda x, y: jax.lax.scan(lambda c, row: (c + row, c * y[0]), x[0], x),
    ],
    ids=["arithmetic", "numbers and constants", "two results", "parts", "loop"],
)
def test_generated_code_computes_what_the_loop_does(
    monkeypatch: pytest.MonkeyPatch, function
) -> None:
    monkeypatch.setattr(run, "RUNS_BEFORE_WRITING", 2)
    rng = np.random.default_rng(0)
    arrays = [rng.random((3, 4), np.float32) for _ in range(2)]
    specs = [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in arrays]
    program = on_numpy.compiled(lambda *a: jax.tree.leaves(function(*a)), *specs)
    first, _, *later = [program(*arrays) for _ in range(4)]
    expected = jax.tree.leaves(function(*arrays))
    for results in later:
        assert len(results) == len(first) == len(expected)
        for one, other, array in zip(first, results, expected, strict=True):
            assert isinstance(other, np.ndarray) and other.dtype == one.dtype
            np.testing.assert_array_equal(one, other)
            np.testing.assert_allclose(other, array, rtol=1e-6)
    if len(first) == 3:  # nobody else holds the constant
        later[0][2][:] = 0
        np.testing.assert_array_equal(program(*arrays)[2], first[2])


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint8, np.float16, np.float32])
def test_ranges_count_as_xla_does(dtype: type) -> None:
    (numbers,) = on_numpy.compiled(lambda: jax.lax.iota(dtype, 300))()
    assert numbers.dtype == dtype
    np.testing.assert_array_equal(numbers, jax.lax.iota(dtype, 300))


def test_a_long_range_does_not_stay_in_memory() -> None:
    count = run._MOST_COUNTED + 1
    program = on_numpy.compiled(lambda: jax.lax.iota(np.int32, count))
    tracemalloc.start()
    try:
        (numbers,) = program()
        during, peak = tracemalloc.get_traced_memory()
        assert (numbers[-1], numbers.dtype) == (count - 1, np.int32)
        assert peak < 1.1 * numbers.nbytes
        del numbers
        assert tracemalloc.get_traced_memory()[0] < 0.1 * during
    finally:
        tracemalloc.stop()
