"""Layers and small operators: channels last, gradients by contract, dtypes, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, nd
from mixnet.base import AttributeValueError, MXNetError, ShapeError


def _random(*shape: int) -> np.ndarray:
    return np.random.default_rng(3).uniform(-1, 1, shape).astype("float32")


# MXNet has no layout with channels last for convolutions of one axis.
LAST = [
    ("Pooling", 1),
    *((n, a) for n in ("Convolution", "Deconvolution", "Pooling") for a in (2, 3)),
]


@pytest.mark.parametrize(("name", "axes"), LAST)
def test_channels_last_is_channels_first_with_the_axes_moved(name: str, axes: int) -> None:
    kernel = (2, 3, 2)[:axes]
    attributes: dict[str, Any] = {"kernel": kernel, "stride": (2,) * axes, "pad": (1,) * axes}
    arrays = [_random(2, 4, *(5, 4, 6)[:axes])]
    layout = {1: "NWC", 2: "NHWC", 3: "NDHWC"}[axes]
    if name == "Pooling":
        attributes["pool_type"] = "avg"
    else:
        attributes |= {"num_filter": 6, "num_group": 2, "no_bias": False}
        channels = (6, 2) if name == "Convolution" else (4, 3)
        arrays += [_random(*channels, *kernel), _random(6)]
    function = getattr(nd, name)
    expected = function(*map(nd.array, arrays), **attributes).asnumpy()
    moved = [np.moveaxis(each, 1, -1) if each.ndim > 1 else each for each in arrays]
    actual = function(*map(nd.array, moved), layout=layout, **attributes).asnumpy()
    np.testing.assert_allclose(np.moveaxis(actual, -1, 1), expected, rtol=1e-5, atol=1e-6)
    if name != "Pooling":
        symbol = getattr(mx.sym, name)(mx.sym.Variable("data"), layout=layout, **attributes)
        shapes, outputs, _ = symbol.infer_shape(data=moved[0].shape)
        assert shapes == [each.shape for each in moved] and outputs == [actual.shape]


def test_bilinear_upsampling_makes_its_weight() -> None:
    data = mx.sym.Variable("data")
    symbol = mx.sym.UpSampling(
        data, scale=2, sample_type="bilinear", num_filter=3, num_args=1, name="up"
    )
    assert symbol.list_arguments() == ["data", "up_weight"]
    shapes, outputs, _ = symbol.infer_shape(data=(1, 3, 4, 5))
    assert shapes == [(1, 3, 4, 5), (3, 1, 4, 4)] and outputs == [(1, 3, 8, 10)]
    again = mx.sym.load_json(symbol.tojson())
    assert again.infer_shape(data=(1, 3, 4, 5))[1] == [(1, 3, 8, 10)]
    nearest = mx.sym.UpSampling(data, scale=2, sample_type="nearest", num_args=1)
    assert nearest.list_arguments() == ["data"]


def test_the_gradient_of_a_step_function_passes_straight_through() -> None:
    for name in ("round", "sign"):
        x = nd.array([-1.6, -0.4, 0.0, 2.5])
        x.attach_grad()
        with mx.autograd.record():
            y = getattr(nd, f"_contrib_{name}_ste")(x)
        y.backward(nd.array([1, 2, 3, 4]))
        np.testing.assert_array_equal(y.asnumpy(), getattr(nd, name)(x).asnumpy())
        np.testing.assert_array_equal(x.grad.asnumpy(), [1, 2, 3, 4])


def test_backward_moves_the_average_of_sparse_regularization() -> None:
    data, average = nd.full((3, 4), 0.3), nd.full((4,), 0.5)
    data.attach_grad()
    nd.IdentityAttachKLSparseReg(data, average)
    with mx.autograd.record():
        out = nd.IdentityAttachKLSparseReg(data, average)
    np.testing.assert_array_equal(average.asnumpy(), np.full(4, 0.5, "float32"))
    out.backward()
    np.testing.assert_allclose(average.asnumpy(), np.full(4, 0.48), rtol=1e-6)


def test_executors_move_the_average_of_sparse_regularization_in_backward() -> None:
    symbol = mx.sym.IdentityAttachKLSparseReg(mx.sym.Variable("data"), name="kl")
    executor = symbol.simple_bind(data=(3, 4))
    (average,) = executor.aux_arrays
    average[:] = 0.5
    executor.forward(is_train=True, data=nd.full((3, 4), 0.3))
    np.testing.assert_array_equal(average.asnumpy(), np.full(4, 0.5, "float32"))
    executor.backward(nd.ones((3, 4)))
    np.testing.assert_allclose(average.asnumpy(), np.full(4, 0.48), rtol=1e-6)


@pytest.mark.filterwarnings("ignore:histogram:UserWarning")
def test_histogram_is_numpys() -> None:
    data = np.random.default_rng(1).integers(-8, 9, 50) / 4  # many on the edges
    for bins, span in ((4, None), (5, (-1.5, 1.0)), (np.array([-1.0, 0.0, 0.25, 2.0]), None)):
        edges = nd.array(bins) if isinstance(bins, np.ndarray) else bins
        actual = nd.histogram(nd.array(data), edges, span)
        counts, expected = np.histogram(data, bins, span)
        np.testing.assert_array_equal(actual[0].asnumpy(), counts)
        np.testing.assert_allclose(actual[1].asnumpy(), expected, rtol=1e-6)


def test_multicast_considers_half_and_single_precision_only() -> None:
    names = ("float16", "float32", "float64", "int32")
    arrays = [nd.ones((2,), dtype=each) for each in names]

    def dtypes(*inputs: Any, **attributes: Any) -> list[str]:
        actual = nd.amp_multicast(*inputs, num_outputs=len(inputs), **attributes)
        return [np.dtype(each.dtype).name for each in actual]

    assert dtypes(*arrays) == ["float32", "float32", "float64", "int32"]
    assert dtypes(*arrays, cast_narrow=True) == ["float16", "float16", "float64", "int32"]
    assert dtypes(arrays[1], arrays[2], cast_narrow=True) == ["float32", "float64"]


def test_a_norm_of_half_precision_keeps_its_dtype() -> None:
    data = nd.array(_random(2, 4, 3, 3)).astype("float16")
    for actual in (
        nd.L2Normalization(data),
        nd.LRN(data, nsize=3),
        nd.GroupNorm(
            data, nd.ones((2,), dtype="float16"), nd.zeros((2,), dtype="float16"), num_groups=2
        ),
        nd._contrib_AdaptiveAvgPooling2D(data, output_size=2),
        nd._contrib_BilinearResize2D(data, height=5, width=2),
        nd._contrib_div_sqrt_dim(data),
        nd._contrib_quadratic(data, a=2.0),
        nd.Pooling(data, kernel=(2, 2), pool_type="lp", p_value=2),
    ):
        assert actual.dtype == np.float16 and np.isfinite(actual.asnumpy()).all()


def test_errors_say_what_is_wrong() -> None:
    x2, x3, x4 = nd.ones((3, 4)), nd.ones((2, 4, 3)), nd.ones((1, 2, 4, 4))
    ones = nd.ones((4,))
    with pytest.raises(ShapeError, match="each group"):
        nd.GroupNorm(x3, ones, ones, num_groups=2)
    with pytest.raises(ShapeError, match="num_groups=3"):
        nd.GroupNorm(x3, ones, ones, num_groups=3)
    with pytest.raises(ShapeError, match="three axes"):
        nd.L2Normalization(x2, mode="channel")
    with pytest.raises(AttributeValueError, match="nsize=0"):
        nd.LRN(x4, nsize=0)
    with pytest.raises(ShapeError, match=r"axes=\(3,\)"):
        nd.moments(x2, axes=(3,))
    with pytest.raises(AttributeValueError, match="p_value=None"):
        nd.Pooling(x4, kernel=(2, 2), pool_type="lp")
    with pytest.raises(ShapeError, match="Pooling takes one to three"):
        nd.Pooling_v1(x3, kernel=(2,))
    with pytest.raises(AttributeValueError, match="output_size"):
        nd._contrib_AdaptiveAvgPooling2D(x4, output_size=(1, 2, 3))
    with pytest.raises(ShapeError, match="data and weight"):
        nd.UpSampling(x4, scale=2, sample_type="bilinear", num_filter=2)
    with pytest.raises(AttributeValueError, match="num_filter=3"):
        nd.UpSampling(x4, nd.ones((3, 1, 4, 4)), scale=2, sample_type="bilinear", num_filter=3)
    with pytest.raises(ShapeError, match="below stride"):
        nd.Deconvolution(x4, nd.ones((2, 2, 2, 2)), kernel=(2, 2), num_filter=2, adj=(1, 0))
    with pytest.raises(ShapeError, match="too large"):
        nd.Deconvolution(
            x4, nd.ones((2, 2, 2, 2)), kernel=(2, 2), num_filter=2, target_shape=(9, 5)
        )
    with pytest.raises(ShapeError, match="im2col"):
        nd.im2col(x4, kernel=(2,))
    with pytest.raises(ShapeError, match="need"):
        nd.col2im(nd.ones((1, 8, 4)), output_size=(4, 4), kernel=(2, 2))
    with pytest.raises(ShapeError, match="SVMOutput"):
        nd.SVMOutput(x2, nd.ones((3, 1)))
    with pytest.raises(ShapeError, match="index_vector"):
        nd._contrib_index_copy(x2, nd.array([0, 1]), x2)
    with pytest.raises(ShapeError, match="axis 2"):
        nd._contrib_index_array(x2, axes=(2,))
    with pytest.raises(ShapeError, match="fill_element_0index"):
        nd.fill_element_0index(x2, ones, ones)
    with pytest.raises(ShapeError, match="equal shapes"):
        nd._contrib_allclose(x2, ones)
    with pytest.raises(ShapeError, match="columns"):
        nd.khatri_rao(x2, x2.T)
    with pytest.raises(AttributeValueError, match="both be given"):
        nd._histogram(x2, bin_cnt=3)
    with pytest.raises(AttributeValueError, match="below the second"):
        nd._histogram(x2, bin_cnt=3, range=(2.0, 1.0))


def test_a_weight_for_other_inputs_is_an_error() -> None:
    with pytest.raises(ShapeError, match=r"takes 6 numbers per sample, but data \(4, 2, 4\) has 8"):
        nd.FullyConnected(nd.ones((4, 2, 4)), nd.ones((5, 6)), num_hidden=5, no_bias=True)


def test_a_kernel_larger_than_its_data_is_an_error() -> None:
    small, weight = nd.ones((1, 1, 2, 2)), nd.ones((2, 1, 3, 3))
    attributes = {"kernel": (3, 3), "num_filter": 2, "no_bias": True}
    with pytest.raises(ShapeError, match=r"reaches over 3 elements.* has 2 there"):
        nd.Convolution(small, weight, **attributes)
    with pytest.raises(ShapeError, match=r"reaches over 5 elements.* has 4 there"):
        nd.Convolution(small, weight, pad=(1, 1), dilate=(2, 2), **attributes)
    assert nd.Convolution(small, weight, pad=(1, 1), **attributes).shape == (1, 2, 2, 2)
    with pytest.raises(ShapeError, match="reaches over 3 elements"):
        mx.sym.Convolution(mx.sym.var("data"), **attributes).infer_shape(data=small.shape)


def test_groups_of_different_sizes_are_an_error() -> None:
    with pytest.raises(ShapeError, match="3 channels and 4 filters cannot form 2 groups"):
        nd.Convolution(
            nd.ones((1, 3, 4, 4)), nd.ones((4, 1, 3, 3)), kernel=(3, 3), num_filter=4, num_group=2,
            no_bias=True,
        )  # fmt: skip
    for channels, filters in ((3, 4), (4, 3), (0, 3)):
        for layer in (mx.gluon.nn.Conv2D, mx.gluon.nn.Conv2DTranspose):
            with pytest.raises(ShapeError, match="cannot form 2 groups"):
                layer(filters, 3, groups=2, in_channels=channels)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [((4,), 0.5), ((4, 3), 0.125), ((4, 1), 0.125), ((2, 1, 2, 3), 0.125), ((2, 2, 1), 0.125)],
)
def test_make_loss_divides_by_the_rows_of_a_batch(shape: tuple[int, ...], expected: float) -> None:
    """MXNet 1.9.1's gradients: a vector is one row."""
    data = mx.nd.ones(shape)
    data.attach_grad()
    with mx.autograd.record():
        loss = mx.nd.MakeLoss(data, grad_scale=0.5, normalization="batch")
    loss.backward()
    assert set(data.grad.asnumpy().ravel().tolist()) == {expected}


def test_pooling_reads_one_number_for_each_axis() -> None:
    data, more = nd.arange(25).reshape((1, 1, 5, 5)), {"stride": (2, 1, 3, 3), "pad": (1, 1, 0)}
    out = nd.Pooling(data, pool_type="max", kernel=(2, 2), **more)
    assert out.shape == (1, 1, 3, 6) and out.sum().asscalar() == 222  # as printed by MXNet 1.9.1
    symbol = mx.sym.Pooling(mx.sym.var("x"), kernel=(2, 2), **more)
    assert symbol.infer_shape(x=data.shape)[1] == [(1, 1, 3, 6)]
    with pytest.raises(ShapeError, match="stride has 1 numbers"):
        nd.Pooling(data, kernel=(2, 2), stride=(1,))


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize(("kernel", "pad"), [((2, 1), (1, 1)), ((2, 2), (2, 0)), ((3, 3), (3, 3))])
def test_a_pooling_window_holds_more_than_padding(kind: str, kernel: Any, pad: Any) -> None:
    data = mx.nd.ones((1, 1, 4, 4))
    with pytest.raises(mx.MXNetError, match="must be smaller than kernel"):
        mx.nd.Pooling(data, kernel=kernel, pad=pad, pool_type=kind).wait_to_read()


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [  # MXNet 1.9.1's gradients
        ({"normalization": "batch"}, -0.1875),
        ({"normalization": "valid", "use_ignore": True}, -0.25),
        ({"multi_output": True, "smooth_alpha": 0.5}, -0.25),  # which then reads no smooth_alpha
    ],
)
def test_softmax_output_counts_all_labels(attributes: dict[str, Any], expected: float) -> None:
    data, label = mx.nd.zeros((2, 2, 2)), mx.nd.array([[0, 1], [-1, 1]])
    data.attach_grad()
    with mx.autograd.record():
        chances = mx.nd.SoftmaxOutput(data, label, **attributes)
    chances.backward()
    assert data.grad[0, 0, 0].asscalar() == expected


def test_svm_output_of_more_axes() -> None:
    # as MXNet 1.9.1
    x = nd.array(np.arange(12).reshape(2, 3, 2) / 5 - 1)
    label = nd.array([[0, 1, 2], [1, 0, 1]])
    x.attach_grad()
    with autograd.record():
        y = nd.SVMOutput(x, label, use_linear=True)
    y.backward()
    assert y.shape == x.shape
    assert x.grad.reshape(-1).asnumpy().tolist() == [-1, 1, 1, -1, 1, 1, 1, -1, -1, 1, 1, 0]
    symbol = mx.sym.SVMOutput(mx.sym.Variable("x"), name="svm")
    assert symbol.infer_shape(x=(2, 3, 4))[0] == [(2, 3, 4), (2, 3)]


def test_infinity_stays_in_its_place_in_columns() -> None:
    image = np.arange(9.0).reshape(1, 1, 3, 3)
    image[0, 0, 1, 1] = np.inf
    columns = nd.im2col(nd.array(image), kernel=(2, 2))
    assert columns[0, 0].asnumpy().tolist() == [0, 1, 3, np.inf]  # as MXNet 1.9.1
    sums = nd.col2im(columns, kernel=(2, 2), output_size=(3, 3))
    assert np.isinf(sums.asnumpy()).sum() == 1


def test_softmax_without_axes_is_that_of_one_element() -> None:
    """As in MXNet 1.9.1, whatever the element is."""
    x = mx.np.array(3.0)
    for function, expected in [(mx.npx.softmax, 1.0), (mx.npx.log_softmax, 0.0)]:
        for options in ({}, {"axis": 0}, {"temperature": 2.0}):
            x.attach_grad()
            with mx.autograd.record():
                y = function(x, **options)
            y.backward()
            assert (y.shape, y.item(), x.grad.item()) == ((), expected, 0.0)
        with pytest.raises(MXNetError, match="axis=1 is out of range"):
            function(x, axis=1)
    assert mx.nd.softmin(x.as_nd_ndarray()).asnumpy() == 1.0
    length = mx.np.array(1, dtype="int32")
    assert mx.npx.softmax(x, length=length, use_length=True).item() == 1.0
    assert np.isnan(mx.npx.softmax(mx.np.array(np.inf)).item())


def test_regression_needs_samples() -> None:
    for name in ("LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput"):
        x = mx.np.array(3.0).as_nd_ndarray()
        with pytest.raises(MXNetError, match="an axis of samples"):
            getattr(mx.nd, name)(x, x)
