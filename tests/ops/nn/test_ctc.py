"""The CTC loss: gradients of sequences of several lengths, as in MXNet 1.9.1; second derivatives."""

from __future__ import annotations

import numpy as np
import pytest

from mixnet import autograd, nd

STEPS, LABELS = [5, 3, 2, 4], [2, 2, 2, 1]
SEQUENCES = [[1, 1], [2, 1], [2, 2], [1, 0]]  # the third has too few steps for its labels
LOSSES = [4.758565425872803, 2.247925043106079, 0, 1.115327000617981]
GRADIENTS = {
    0: [
        [-0.038745, -0.389113, 0.427857], [0.745138, 0.46822, -1.213358], [0, 0, 0],
        [-0.795971, 0.197375, 0.598596],
    ],
    2: [
        [-0.396435, -0.229644, 0.626079], [0.651726, -0.884306, 0.23258], [0, 0, 0],
        [0.151696, -0.666145, 0.514449],
    ],
    4: [[-0.092767, -0.38255, 0.475317], [0, 0, 0], [0, 0, 0], [0, 0, 0]],
}  # fmt: skip


def losses(data: nd.NDArray) -> nd.NDArray:
    return nd.ctc_loss(
        data, nd.array(SEQUENCES), nd.array(STEPS), nd.array(LABELS), use_data_lengths=True,
        use_label_lengths=True,
    )  # fmt: skip


def test_gradients_of_sequences_of_several_lengths() -> None:
    data = nd.array(np.sin(np.arange(60)).reshape(5, 4, 3))
    data.attach_grad()
    with autograd.record():
        loss = losses(data)
    loss.backward(nd.array([1.0, 2.0, 3.0, 4.0]))
    np.testing.assert_allclose(loss.asnumpy(), LOSSES, rtol=1e-6)
    for step, expected in GRADIENTS.items():
        np.testing.assert_allclose(data.grad[step].asnumpy(), expected, atol=2e-6)


def test_second_derivatives_are_differences_of_gradients() -> None:
    start = np.sin(np.arange(60)).reshape(5, 4, 3)
    along = np.cos(np.arange(60)).reshape(5, 4, 3)

    def gradient(values: np.ndarray, second: bool) -> np.ndarray:
        data = nd.array(values, dtype="float64")
        data.attach_grad()
        with autograd.record():
            total = losses(data).sum()
            if second:
                (first,) = autograd.grad(total, [data], create_graph=True)
                total = (first * nd.array(along, dtype="float64")).sum()
        total.backward()
        return data.grad.asnumpy()

    step = 1e-5
    difference = gradient(start + step * along, False) - gradient(start - step * along, False)
    np.testing.assert_allclose(gradient(start, True), difference / (2 * step), atol=1e-8)


def test_labels_outside_of_the_classes_are_refused() -> None:
    data = nd.ones((5, 1, 4))
    for blank, labels in (("first", [1, 4]), ("first", [-3, 1]), ("last", [7, -1])):
        with pytest.raises(IndexError, match="classes 0 to 3"):
            nd.CTCLoss(data, nd.array([labels]), blank_label=blank)
    # What stands behind the padding is not read.
    padded = nd.CTCLoss(data, nd.array([[1, 0, 9]]))
    np.testing.assert_array_equal(padded.asnumpy(), nd.CTCLoss(data, nd.array([[1]])).asnumpy())
    lengths = nd.array([1])
    loss = nd.CTCLoss(data, nd.array([[1, 9]]), lengths, use_label_lengths=True)
    np.testing.assert_array_equal(loss.asnumpy(), padded.asnumpy())


def _loss_and_gradient(data: np.ndarray) -> tuple[float, np.ndarray]:
    array = nd.array(data[:, None, :])
    array.attach_grad()
    with autograd.record():
        loss = nd.CTCLoss(array, nd.array([[1, 2]]))
    loss.backward()
    return loss.asscalar(), array.grad.asnumpy()[:, 0]


DATA = np.random.RandomState(0).randn(4, 2, 3)[:, 0]


def test_a_class_that_is_ruled_out_at_a_step_has_no_gradient_there() -> None:
    """The numbers are MXNet 1.9.1's."""
    data = DATA.copy()
    data[1, 1] = -np.inf
    loss, gradient = _loss_and_gradient(data)
    assert loss == pytest.approx(2.8820384, rel=1e-5)
    np.testing.assert_allclose(gradient[0], [0.508992, -0.7753896, 0.26639745], rtol=1e-5)
    np.testing.assert_allclose(gradient[1], [0.13674241, 0, -0.13674226], rtol=1e-5)


def test_an_impossible_label_has_infinite_loss() -> None:
    data = DATA.copy()
    data[:, 1] = -np.inf
    loss, gradient = _loss_and_gradient(data)
    assert loss == np.inf
    np.testing.assert_array_equal(gradient, np.zeros_like(data))
    data[0] = -np.inf
    assert np.isnan(_loss_and_gradient(data)[0])
