"""Which labels the loss heads take, as MXNet 1.9.1 does: a label of another shape is refused, read or not."""

from __future__ import annotations

import pytest

import mixnet as mx
from mixnet import nd

Shape = tuple[int, ...]


@pytest.mark.parametrize(
    ("data", "label", "multi_output"),
    [
        ((2, 3), (2,), False),
        ((2, 3), (2, 3), False),
        ((2, 3), (2, 1), True),
        ((2, 3, 4), (2, 3), False),
        ((2, 3, 4), (2, 1, 4), True),
        ((2, 3, 4), (2, 4), True),
        ((6,), (6,), False),
    ],
)
def test_softmax_output_accepts_labels_that_mxnet_accepts(
    data: Shape, label: Shape, multi_output: bool
) -> None:
    output = nd.SoftmaxOutput(nd.ones(data), nd.ones(label), multi_output=multi_output)
    assert output.shape == data


@pytest.mark.parametrize(
    ("data", "label", "multi_output"),
    [
        ((2, 3), (3,), False),
        ((2, 3), (2, 1), False),
        ((2, 3), (8,), True),
        ((2, 3, 4), (2,), False),
        ((2, 3, 4), (2, 4), False),
        ((2, 3, 4), (8,), True),
    ],
)
def test_softmax_output_refuses_other_labels(data: Shape, label: Shape, multi_output: bool) -> None:
    with pytest.raises(mx.MXNetError, match="label"):
        nd.SoftmaxOutput(nd.ones(data), nd.ones(label), multi_output=multi_output)


@pytest.mark.parametrize("name", ["Linear", "MAE", "Logistic"])
def test_regression_outputs_check_the_size_of_labels(name: str) -> None:
    output = getattr(nd, f"{name}RegressionOutput")
    assert output(nd.ones((2, 1)), nd.ones((2,))).shape == (2, 1)
    for label in ((6,), (3, 2)):
        with pytest.raises(mx.MXNetError, match="label"):
            output(nd.ones((2, 3)), nd.ones(label))
