"""Operators that only compute in floating point refuse other dtypes, as MXNet 1.9.1 does."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import mixnet as mx
from mixnet import nd, np
from tests.each_record import each_record

WHOLE = ("uint8", "int8", "int32", "int64")
CALLS = [
    lambda x: nd.softmax(x),
    lambda x: nd.log_softmax(x),
    lambda x: nd.softmin(x),
    lambda x: nd.hard_sigmoid(x),
    lambda x: nd.Activation(x, act_type="relu"),
    lambda x: nd.pad(x.reshape((1, 1, 2, 2)), mode="constant", pad_width=(0, 0, 0, 0, 1, 1, 1, 1)),
    lambda x: nd.linalg.gemm2(x, x),
    lambda x: nd.linalg.syrk(x),
    lambda x: nd.linalg.trmm(x, x),
    lambda x: np.dot(x.as_np_ndarray(), x.as_np_ndarray()),
]


def image(x: nd.NDArray) -> nd.NDArray:
    return x.reshape((1, 1, 2, 2))


def row(x: nd.NDArray) -> nd.NDArray:
    return x.reshape((-1,))[:2]


ONE = {"kernel": (1, 1), "num_filter": 1, "no_bias": True}
CALLS += [
    lambda x: nd.Pooling(image(x), kernel=(2, 2), pool_type="max"),
    lambda x: nd.Pooling(image(x), kernel=(1, 1), global_pool=True, pool_type="avg"),
    lambda x: nd.Pooling_v1(image(x), kernel=(2, 2), pool_type="max"),
    lambda x: nd.contrib.AdaptiveAvgPooling2D(image(x), output_size=1),
    lambda x: nd.UpSampling(image(x), scale=2, sample_type="nearest"),
    lambda x: nd.BatchNorm(x, row(x), row(x), row(x), row(x)),
    lambda x: nd.GroupNorm(x.reshape((1, 2, 2)), row(x), row(x), num_groups=2),
    lambda x: nd.Dropout(x),
    lambda x: nd.Dropout(x, p=0.5, mode="always"),
    lambda x: nd.Deconvolution(image(x), image(x)[:, :, :1, :1], **ONE),
    lambda x: nd.Convolution_v1(image(x), image(x)[:, :, :1, :1], **ONE),
    lambda x: nd.FullyConnected(x, x, num_hidden=2, no_bias=True),
    lambda x: nd.MakeLoss(x),
    lambda x: nd.LinearRegressionOutput(x, x),
    lambda x: nd.MAERegressionOutput(x, x),
    lambda x: nd.LogisticRegressionOutput(x, x),
    lambda x: nd.SVMOutput(x, row(x)),
    lambda x: nd.SoftmaxActivation(x),
    lambda x: nd.BilinearSampler(image(x), nd.concat(image(x), image(x), dim=1)),
    lambda x: nd.GridGenerator(
        nd.concat(row(x), row(x), row(x), dim=0).reshape((1, 6)), "affine", target_shape=(2, 2)
    ),
    lambda x: nd.ctc_loss(x.reshape((2, 1, 2)), x[:1, :1]),
]


CALLS += [
    lambda x: nd.dot(x, x),
    lambda x: nd.dot(row(x), row(x)),
    lambda x: nd.dot(x.tostype("csr"), x),
    lambda x: nd.dot(x, x.tostype("csr")),
    lambda x: nd.batch_dot(x.reshape((1, 2, 2)), x.reshape((1, 2, 2))),
    lambda x: nd.khatri_rao(x, x),
    lambda x: nd.Crop(image(x), h_w=(1, 1), num_args=1),
    lambda x: nd.Correlation(image(x), image(x), pad_size=1),
    lambda x: nd.im2col(image(x), kernel=(1, 1)),
    lambda x: nd.col2im(x.reshape((1, 1, 4)), output_size=(2, 2), kernel=(1, 1)),
    lambda x: nd.contrib.fft(x),
    lambda x: nd.contrib.ifft(x),
    lambda x: nd.linalg.makediag(x),
    lambda x: nd.linalg.extractdiag(x),
    lambda x: nd.linalg.extracttrian(x),
    lambda x: nd.linalg.sumlogdiag(x),
    lambda x: nd.all_finite(x),
    lambda x: nd.multi_sum_sq(x, num_arrays=1),
    lambda x: nd.sgd_update(x, x, lr=1),
    lambda x: nd.sgd_mom_update(x, x, x.copy(), lr=1),
    lambda x: nd.multi_sgd_update(x, x, lrs=(1,), wds=(1,), num_weights=1),
    lambda x: nd.adam_update(x, x, x.copy(), x.copy(), lr=1),
    lambda x: nd.contrib.interleaved_matmul_encdec_qk(
        x.reshape((1, 2, 2)), nd.concat(x, x, dim=1).reshape((1, 2, 4)), heads=2
    ),
]


@each_record(
    "call, dtype",
    itertools.product(CALLS, WHOLE),
    ids=lambda record: f"line {record[0].__code__.co_firstlineno} of {record[1]}",
)
def test_integers_are_refused(call: Any, dtype: str) -> None:
    with pytest.raises(mx.MXNetError, match=f"is {dtype}; it must be floating point"):
        call(nd.ones((2, 2), dtype=dtype))
    assert "float32" in str(call(nd.ones((2, 2))).dtype)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64"])
def test_convolution_takes_only_the_smallest_integers(dtype: str) -> None:
    with pytest.raises(mx.MXNetError, match=f"data is {dtype}; it must be floating point"):
        nd.Convolution(
            nd.ones((1, 1, 2, 2), dtype=dtype), nd.ones((1, 1, 1, 1), dtype=dtype), **ONE
        )
    small = nd.ones((1, 1, 2, 2), dtype="int8")
    assert nd.Convolution(small, small[:, :, :1, :1], **ONE).asnumpy().tolist() == [
        [[[1, 1], [1, 1]]]
    ]
