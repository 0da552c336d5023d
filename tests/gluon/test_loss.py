"""Losses against MXNet's numbers: values and gradients, hybridized and not, by NumPy's rules too."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from tests.each_record import each_record

FIXTURES = Path(__file__).parents[1] / "parity" / "fixtures"
CASES = json.loads((FIXTURES / "losses.json").read_text())


@each_record("hybridize", [False, True])
@each_record("name", CASES)
def test_values_and_gradients_are_mxnets(name: str, hybridize: bool) -> None:
    case, stored = CASES[name], np.load(FIXTURES / "losses.npz")
    loss = getattr(gluon.loss, case["class"])(**case["kwargs"])
    loss.hybridize(hybridize)
    inputs = [nd.array(stored[f"in:{each}"]) for each in case["args"]]
    inputs[0].attach_grad()
    with autograd.record():
        actual = loss(*inputs)
    actual.backward()
    assert actual.shape == stored[name].shape
    np.testing.assert_allclose(actual.asnumpy(), stored[name], rtol=2e-5, atol=1e-5)
    gradient = inputs[0].grad.asnumpy()
    np.testing.assert_allclose(gradient, stored[f"{name}:grad0"], rtol=2e-4, atol=1e-5)


# Numbers of MXNet 1.9.1 for arguments that the files do not have.
PRED = [[0.5, -1.0, 2.0], [1.5, 0.3, -0.2]]
LABEL = [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
ARGUMENTS = {
    "bce pos": (gluon.loss.SigmoidBCELoss(), [PRED, LABEL, None, [[2, 1, 3]]], [0.5474, 1.55006]),
    "bce pos sw": (
        gluon.loss.SigmoidBCELoss(weight=2),
        [PRED, LABEL, [[2], [0.5]], [[2, 1, 3]]],
        [2.1896, 1.55006],
    ),
    "l2 b1": (gluon.loss.L2Loss(batch_axis=1), [PRED, LABEL], [0.625, 0.3725, 0.61]),
    "sce w": (gluon.loss.SoftmaxCELoss(weight=0.5), [PRED, [0, 2], [1, 0]], [0.43533, 0.52366]),
    "kl axis": (gluon.loss.KLDivLoss(from_logits=False, axis=0), [PRED, LABEL], [1.41834, 2.54609]),
    "cos": (
        gluon.loss.CosineEmbeddingLoss(margin=0.2, weight=2),
        [PRED, LABEL, [1, -1], [[1], [3]]],
        [0.45697, 0.0],
    ),
    "poisson sw": (gluon.loss.PoissonNLLLoss(weight=2), [PRED, LABEL, [[1], [3]]], [8.85216]),
    "sdml": (gluon.loss.SDMLLoss(weight=0.1), [PRED, LABEL], [0.33773, 1.15597]),
}


@each_record("hybridize", [False, True])
@each_record("case", ARGUMENTS)
def test_arguments_change_losses_as_in_mxnet(case: str, hybridize: bool) -> None:
    loss, inputs, expected = ARGUMENTS[case]
    loss.hybridize(hybridize)
    actual = loss(*[None if each is None else nd.array(each) for each in inputs])
    np.testing.assert_allclose(actual.asnumpy().reshape(-1), expected, rtol=1e-4, atol=1e-5)


def test_ctc_respects_layouts_and_lengths() -> None:
    pred = nd.arange(40).reshape((5, 2, 4)) / 20
    loss = gluon.loss.CTCLoss(layout="TNC", label_layout="TN", weight=2)
    actual = loss(pred, nd.array([[0, 1], [1, 2], [2, -1]]), nd.array([5, 4]), nd.array([3, 2]))
    np.testing.assert_allclose(actual.asnumpy(), CTC, rtol=1e-5)


CTC = [7.228610038757324, 5.503069877624512]


def test_the_constant_part_of_poisson() -> None:
    pred, count = np.array([[0.3, 1.0]], "float32"), np.array([[1.0, 4.0]], "float32")
    actual = gluon.loss.PoissonNLLLoss(compute_full=True)(nd.array(pred), nd.array(count))
    stirling = 4 * np.log(4) - 4 + 0.5 * np.log(8 * np.pi)
    expected = (np.exp(pred) - count * pred + np.array([0, stirling])).mean()
    np.testing.assert_allclose(actual.asnumpy(), [expected], rtol=1e-5)


def test_text_and_errors_are_mxnets() -> None:
    loss = gluon.loss.SoftmaxCrossEntropyLoss(weight=2, batch_axis=1)
    assert repr(loss) == "SoftmaxCrossEntropyLoss(batch_axis=1, w=2)"
    assert repr(gluon.loss.CTCLoss()) == "CTCLoss(batch_axis=0, w=None)"
    with pytest.raises(AssertionError, match="sample_weight"):
        gluon.loss.L1Loss(weight=nd.ones((1,)))(nd.array(PRED), nd.array(LABEL))
    with pytest.raises(AssertionError, match="'NTC' or 'TNC'"):
        gluon.loss.CTCLoss(layout="NCT")
    with pytest.raises(ValueError, match="'signed' or 'binary'"):
        gluon.loss.LogisticLoss(label_format="zero")


def test_nodes_are_named_as_mxnets() -> None:
    with mx.name.NameManager():
        loss = gluon.loss.SigmoidBinaryCrossEntropyLoss()
        symbol = loss(mx.sym.var("pred"), mx.sym.var("label"))
    operators = [name for name in symbol.get_internals().list_outputs() if name.endswith("output")]
    assert [name.removeprefix("sigmoidbinarycrossentropyloss0_") for name in operators] == [
        "relu0_output", "reshape_like0_output", "_mul0_output", "_minus0_output", "abs0_output",
        "_mulscalar0_output", "activation0_output", "_plus0_output", "mean0_output",
    ]  # fmt: skip


# Of predictions and labels at 0, where training starts when weights do: MXNet 1.9.1's gradients.
AT_ZERO = {"L1Loss": 0.0, "SigmoidBinaryCrossEntropyLoss": 0.0, "LogisticLoss": -0.5}


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("name", AT_ZERO)
def test_gradients_at_zero_are_mxnets(name: str, hybridize: bool) -> None:
    loss = getattr(gluon.loss, name)()
    loss.hybridize(hybridize)
    prediction, label = nd.zeros((2, 1)), nd.zeros((2, 1))
    prediction.attach_grad()
    with autograd.record():
        actual = loss(prediction, label)
    actual.backward()
    assert prediction.grad.asnumpy().tolist() == [[AT_ZERO[name]]] * 2


def test_pairs_of_different_shapes_are_refused() -> None:
    """MXNet 1.9.1 raises an AssertionError."""
    with pytest.raises(
        AssertionError, match=r"x1 \(5, 6\) and x2 \(3, 6\) must have the same shape"
    ):
        gluon.loss.SDMLLoss()(nd.ones((5, 6)), nd.ones((3, 6)))


# Of 0.1 and 1 as prediction and label, by MXNet 1.9.1: the loss and its gradient.
NUMBERS = {
    "L2Loss": (0.405, -0.9),
    "L1Loss": (0.9, -1.0),
    "SigmoidBinaryCrossEntropyLoss": (0.6443967, -0.4750208),
}


@pytest.mark.parametrize("name", sorted(NUMBERS))
def test_losses_of_arrays_without_axes(name: str) -> None:
    prediction, label = mx.np.array(0.1), mx.np.array(1.0)
    prediction.attach_grad()
    with mx.util.np_array(True), mx.util.np_shape(True), autograd.record():
        loss = getattr(gluon.loss, name)()(prediction, label)
    loss.backward()
    assert loss.shape == ()
    assert (loss.item(), prediction.grad.item()) == pytest.approx(NUMBERS[name])
