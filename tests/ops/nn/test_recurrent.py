"""``RNN`` where MXNet on a CPU is no reference: lengths, bounds, dropout; and the errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import nd

FIXTURES = Path(__file__).parents[2] / "parity" / "fixtures"
GATES = {"rnn_tanh": 1, "lstm": 4, "gru": 3}
STEPS, BATCH, UNITS, SIZE = 5, 3, 2, 4
LENGTHS = [2, 5, 1]


def arrays(mode: str, layers: int = 1, sides: int = 1) -> list[nd.NDArray]:
    rng = np.random.default_rng(0)
    gates, count = GATES[mode] * SIZE, 0
    for layer in range(layers):
        count += sides * gates * ((SIZE * sides if layer else UNITS) + SIZE + 2)
    states = [(layers * sides, BATCH, SIZE)] * (2 if mode == "lstm" else 1)
    shapes = [(STEPS, BATCH, UNITS), (count,), *states]
    return [nd.array(rng.uniform(-0.7, 0.7, shape)) for shape in shapes]


def run(inputs: list[nd.NDArray], mode: str, layers: int = 1, sides: int = 1, **more: Any) -> Any:
    return nd.RNN(
        *inputs,
        state_size=SIZE,
        num_layers=layers,
        mode=mode,
        bidirectional=sides == 2,
        state_outputs=True,
        **more,
    )


@pytest.mark.parametrize("mode", GATES)
@pytest.mark.parametrize(("layers", "sides"), [(1, 1), (2, 2)])
def test_padding_does_not_change_a_short_sequence(mode: str, layers: int, sides: int) -> None:
    inputs = arrays(mode, layers, sides)
    for each in inputs:
        each.attach_grad()
    lengths = nd.array(LENGTHS)
    with mx.autograd.record():
        outputs = run([*inputs, lengths], mode, layers, sides, use_sequence_length=True)
        total = sum((each * each).sum() for each in outputs)
    total.backward()
    results = [each.grad.asnumpy() for each in inputs]
    expected = [np.zeros(each.shape, "float32") for each in inputs]
    for i, length in enumerate(LENGTHS):
        alone = [inputs[0][:length, i : i + 1], inputs[1], *(s[:, i : i + 1] for s in inputs[2:])]
        alone = [each.copy() for each in alone]
        for each in alone:
            each.attach_grad()
        with mx.autograd.record():
            one = run(alone, mode, layers, sides)
            total = sum((each * each).sum() for each in one)
        total.backward()
        np.testing.assert_allclose(
            outputs[0][:length, i].asnumpy(), one[0][:, 0].asnumpy(), rtol=1e-5, atol=1e-6
        )
        np.testing.assert_array_equal(outputs[0].asnumpy()[length:, i], 0)
        for whole, part in zip(outputs[1:], one[1:], strict=True):
            np.testing.assert_allclose(
                whole[:, i].asnumpy(), part[:, 0].asnumpy(), rtol=1e-5, atol=1e-6
            )
        expected[0][:length, i] = alone[0].grad.asnumpy()[:, 0]
        expected[1] += alone[1].grad.asnumpy()
        for j in range(2, len(inputs)):
            expected[j][:, i] = alone[j].grad.asnumpy()[:, 0]
    for ours, theirs in zip(results, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_the_cell_state_stays_in_its_bounds() -> None:
    inputs = arrays("lstm")
    _, hidden, cell = run(inputs, "lstm", lstm_state_clip_min=-0.05, lstm_state_clip_max=0.05)
    assert np.abs(run(inputs, "lstm")[2].asnumpy()).max() > 0.06
    assert np.abs(cell.asnumpy()).max() <= np.float32(0.05)
    assert np.abs(hidden.asnumpy()).max() < 0.05
    inputs[3][:] = np.nan
    bounds = {"lstm_state_clip_min": -0.05, "lstm_state_clip_max": 0.05}
    assert np.isnan(run(inputs, "lstm", **bounds)[0].asnumpy()).all()
    assert not np.isnan(run(inputs, "lstm", lstm_state_clip_nan=True, **bounds)[0].asnumpy()).any()


def test_dropout_is_between_layers_in_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIXNET_RANDOM", "threefry")
    for layers, differ in ((1, False), (2, True)):
        inputs = arrays("gru", layers)
        plain = run(inputs, "gru", layers)[0].asnumpy()
        np.testing.assert_array_equal(run(inputs, "gru", layers, p=0.5)[0].asnumpy(), plain)
        with mx.autograd.record():
            actual = run(inputs, "gru", layers, p=0.5)[0].asnumpy()
        assert np.array_equal(actual, plain) != differ


def test_a_projection_trains() -> None:
    rng = np.random.default_rng(1)
    count = 2 * 16 * (2 + 3 + 2) + 2 * 3 * 4
    shapes = [(STEPS, BATCH, UNITS), (count,), (2, BATCH, 3), (2, BATCH, 4)]
    data = [rng.uniform(-0.7, 0.7, shape) for shape in shapes]

    def value(data: list[np.ndarray], inputs: list[nd.NDArray] | None = None) -> nd.NDArray:
        inputs = inputs or [nd.array(each, dtype="float64") for each in data]
        return (run(inputs, "lstm", sides=2, projection_size=3)[0] ** 2).sum()

    inputs = [nd.array(each, dtype="float64") for each in data]
    for each in inputs:
        each.attach_grad()
    with mx.autograd.record():
        total = value(data, inputs)
    total.backward()
    for i in range(len(data)):
        flat = data[i].reshape(-1)
        for j in range(0, flat.size, max(1, flat.size // 5)):
            before, step = flat[j], 1e-6
            flat[j] = before + step
            up = value(data).asscalar()
            flat[j] = before - step
            down = value(data).asscalar()
            flat[j] = before
            slope = inputs[i].grad.asnumpy().reshape(-1)[j]
            assert slope == pytest.approx((up - down) / (2 * step), rel=1e-4, abs=1e-6), (i, j)


def test_a_gluon_layers_file_gives_what_mxnet_gave() -> None:
    stored = np.load(FIXTURES / "gluon_lstm-io.npz")
    symbol = mx.sym.load(FIXTURES / "gluon_lstm-symbol.json")
    bound = {
        key.removeprefix("arg:"): value
        for key, value in nd.load(FIXTURES / "gluon_lstm-0000.params").items()
    }
    bound["data0"] = nd.array(stored["in:0"])
    bound["data1"] = bound["data2"] = nd.zeros((1, 2, 4))
    (output,) = symbol.bind(mx.cpu(), bound, grad_req="null").forward()
    np.testing.assert_allclose(output.asnumpy(), stored["out:0"], rtol=1e-4, atol=1e-5)


def test_what_does_not_fit_is_named() -> None:
    inputs = arrays("gru")
    with pytest.raises(mx.base.ShapeError, match=r"parameters is .*\(96,\) follows"):
        run([inputs[0], inputs[1][:-1], inputs[2]], "gru").__getitem__(0).asnumpy()
    with pytest.raises(mx.base.ShapeError, match="time, batch, units"):
        run([inputs[0][0], inputs[1], inputs[2]], "gru").__getitem__(0).asnumpy()
    with pytest.raises(mx.base.AttributeValueError, match="only 'lstm' has a projection"):
        run(inputs, "gru", projection_size=2).__getitem__(0).asnumpy()
