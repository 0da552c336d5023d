"""Operators for unusual numbers, shapes and dtypes; the results are MXNet 1.9.1's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import nd
from tests.each_record import each_record

INF, NAN = float("inf"), float("nan")
SAMPLE = [[0.5, 3, -1, NAN, 1, 2]]
WEIGHT, GRADIENT = [1, INF, -INF, NAN, 1e30, 2], [1, 1, 1, 1, 1e38, NAN]


def density(name: str, *parameters: float, **attributes: Any) -> Callable[[], Any]:
    function = getattr(nd, f"random_pdf_{name}")
    return lambda: function(nd.array(SAMPLE), *[nd.array([p]) for p in parameters], **attributes)


def update(name: str, **attributes: Any) -> Callable[[], Any]:
    function = getattr(nd, name)
    return lambda: function(nd.array(WEIGHT), nd.array(GRADIENT), lr=0.1, wd=0.01, **attributes)


def group(*numbers: float) -> Callable[[], Any]:
    def normalize() -> nd.NDArray:
        data = nd.array(numbers).reshape((1, 2, 3))
        return nd.GroupNorm(data, nd.ones(1), nd.zeros(1), num_groups=1)

    return normalize


RESULTS: dict[str, tuple[Callable[[], Any], list[float]]] = {
    "ends of a range in the wrong order": (density("uniform", 2, 1), [-1] * 6),
    "a deviation below 0": (
        density("normal", 0, -1),
        [-0.352065, -0.00443185, -0.241971, NAN, -0.241971, -0.0539910],
    ),
    "the logarithm for a deviation below 0": (density("normal", 0, -1, is_log=True), [NAN] * 6),
    "a rate below 0": (
        density("exponential", -1),
        [-1.64872, -20.0855, -0.367879, NAN, -2.71828, -7.38906],
    ),
    "a gamma sample below 0": (
        density("gamma", 1, 2),
        [0.735759, 0.00495750, NAN, NAN, 0.270671, 0.0366313],
    ),
    "SGD": (update("sgd_update"), [0.899, INF, -INF, NAN, -1e37, NAN]),
    "SGD with clipping": (
        update("sgd_update", clip_gradient=1),
        [0.899, INF, -INF, NAN, 9.99e29, NAN],
    ),
    "sign of NaN": (update("signsgd_update"), [0.899, INF, -INF, NAN, 9.99e29, 1.998]),
    "a group whose squares overflow": (group(1e30, 1, 2, 3, 4, 5), [NAN] * 6),
    "a group of large numbers": (
        group(1000, 1001, 1002, 1003, 1004, 1005),
        [-1.46385, -0.878309, -0.292770, 0.292770, 0.878309, 1.46385],
    ),
}


@each_record("case", RESULTS)
def test_results_are_mxnets(case: str) -> None:
    call, expected = RESULTS[case]
    np.testing.assert_allclose(call().asnumpy().reshape(-1), expected, rtol=2e-5)


def test_gradients_of_a_uniform_density() -> None:
    low, high = nd.array([2]), nd.array([1])
    low.attach_grad()
    high.attach_grad()
    with mx.autograd.record():
        y = nd.random_pdf_uniform(nd.array([[0.5, 3, 1.5]]), low, high)
    y.backward()
    assert (low.grad.asscalar(), high.grad.asscalar()) == (3, -3)


def test_a_signum_step_ignores_a_momentum_of_nan() -> None:
    momentum = nd.array([0, 1, 1, NAN, INF, 1])
    result = nd.signum_update(
        nd.array(WEIGHT), nd.array(GRADIENT), momentum, lr=0.1, wd=0.01, momentum=0.9
    )
    np.testing.assert_allclose(result.asnumpy(), [0.9, INF, -INF, NAN, 1e30, 2], rtol=1e-6)
    np.testing.assert_allclose(momentum.asnumpy(), [-0.101, -INF, INF, NAN, INF, NAN], rtol=1e-6)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
def test_quotients_of_integers_are_integers_in_stored_graphs(dtype: str) -> None:
    left, right = nd.array([[3, 1, 2]], dtype=dtype), nd.array([[2, 1, 1]], dtype=dtype)
    result = nd._internal._scatter_elemwise_div(left, right)
    assert (result.dtype, result.asnumpy().tolist()) == (np.dtype(dtype), [[1, 1, 2]])


def test_operators_on_stored_booleans_give_integers() -> None:
    mask = nd.array([[1, 1, 0]], dtype="bool")
    for name, expected in (("plus", [[3, 3, 2]]), ("minus", [[-1, -1, -2]])):
        result = getattr(nd._internal, f"_scatter_{name}_scalar")(mask, scalar=2)
        assert (result.dtype, result.asnumpy().tolist()) == (np.int64, expected)
    with pytest.raises(mx.MXNetError, match="booleans are not divided"):
        nd._internal._scatter_elemwise_div(mask, mask)


def test_proposals_in_a_picture_without_extent_begin_at_0() -> None:
    numbers = np.random.RandomState(1)
    boxes = nd.contrib.Proposal(
        nd.array(numbers.uniform(0, 1, (1, 2, 2, 2))),
        nd.array(numbers.uniform(-1, 1, (1, 4, 2, 2))),
        nd.array([[0.5, 0.5, 1]]),
        rpn_pre_nms_top_n=4, rpn_post_nms_top_n=3, scales=(4,), ratios=(1,), feature_stride=16,
        rpn_min_size=0,
    )  # fmt: skip
    assert (boxes.asnumpy() == 0).all()


def test_batches_without_samples_compute_as_in_mxnet() -> None:
    with mx.util.np_shape():
        columns = nd.im2col(nd.zeros((0, 2, 3, 3)), kernel=(2, 2))
        assert columns.shape == (0, 8, 4)
        assert nd.col2im(columns, output_size=(3, 3), kernel=(2, 2)).shape == (0, 2, 3, 3)
        scores = nd.contrib.interleaved_matmul_selfatt_qk(nd.zeros((0, 2, 12)), heads=2)
        assert scores.shape == (4, 0, 0)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("is_numpy", [False, True])
def test_the_sign_of_remainders_of_0(dtype: str, is_numpy: bool) -> None:
    dividend = [-0.0, 0.0, 4, -4, 4, -4, 1]
    divisor = [3, -3, 2, 2, -2, -2, 0]
    if is_numpy:
        by_array = mx.np.mod(mx.np.array(dividend, dtype=dtype), mx.np.array(divisor, dtype=dtype))
        by_number = mx.np.mod(mx.np.array(dividend, dtype=dtype), -2)
    else:
        by_array = nd.modulo(nd.array(dividend, dtype=dtype), nd.array(divisor, dtype=dtype))
        by_number = nd.array(dividend, dtype=dtype) % -2
    assert str(by_array.asnumpy().tolist()) == "[-0.0, 0.0, 0.0, 0.0, 0.0, -0.0, 0.0]"
    assert str(by_number.asnumpy().tolist()) == "[0.0, 0.0, 0.0, -0.0, 0.0, -0.0, -1.0]"
