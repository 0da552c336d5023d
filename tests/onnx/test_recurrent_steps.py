"""Recurrent layers with options that the operator RNN does not have, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from tests.onnx.models import agrees, floats, model_of, saved
from tests.onnx.runtime import onnx

make = onnx.helper.make_node
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
STEPS, BATCH, FEATURES, SIZE = 5, 3, 2, 4
OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "a GRU that resets before its product": ("GRU", {}),
    "activations": ("GRU", {"activations": ["HardSigmoid", "Softsign"], "linear_before_reset": 1}),
    "activations with numbers": (
        "LSTM",
        {"activations": ["HardSigmoid", "ScaledTanh", "LeakyRelu"], "activation_alpha": [0.3, 1.2, 0.1],
         "activation_beta": [0.4, 0.7]},
    ),
    "sums within a limit": ("LSTM", {"clip": 0.3}),
    "coupled gates": ("LSTM", {"input_forget": 1}),
    "affine": ("RNN", {"activations": ["Affine"], "activation_alpha": [0.5], "activation_beta": [0.1]}),
}  # fmt: skip


def layer(
    kind: str, direction: str, parts: set[str], **options: Any
) -> tuple[Any, dict[str, np.ndarray]]:
    """A model of one layer, and its inputs; parts are optional inputs that it has."""
    sides = 2 if direction == "bidirectional" else 1
    rows = GATES[kind] * SIZE
    for name in ("activations", "activation_alpha", "activation_beta"):
        if name in options:
            options[name] = options[name] * sides
    states = ["h", "c"] if kind == "LSTM" else ["h"]
    arrays = {"w": floats(sides, rows, FEATURES), "r": floats(sides, rows, SIZE)}
    more = {"b": floats(sides, 2 * rows), "p": floats(sides, 3 * SIZE)}
    arrays |= {name: each for name, each in more.items() if name in parts}
    inputs = {
        "x": floats(STEPS, BATCH, FEATURES),
        **{s: floats(sides, BATCH, SIZE) for s in states},
    }
    shapes: dict[str, Any] = {name: each.shape for name, each in inputs.items()}
    if "lengths" in parts:
        inputs["lengths"] = np.array([5, 2, 4], "int32")
        shapes["lengths"] = ("int32", [BATCH])
    names = ["x", "w", "r", "b", "lengths", "h", "c", "p"]
    names = [n if n in arrays or n in inputs else "" for n in names]
    while not names[-1]:
        names.pop()
    outputs = ["y", *(f"last_{s}" for s in states)]
    node = make(kind, names, outputs, hidden_size=SIZE, direction=direction, **options)
    return model_of([node], shapes, outputs, **arrays), inputs


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("name", OPTIONS)
def test_options_of_recurrent_layers_are_imported(
    name: str, direction: str, tmp_path: Path
) -> None:
    kind, options = OPTIONS[name]
    model, inputs = layer(kind, direction, {"b"}, **options)
    agrees(model, tmp_path / "net.onnx", **inputs)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("kind", GATES)
def test_lengths_of_sequences_are_respected(kind: str, direction: str, tmp_path: Path) -> None:
    model, inputs = layer(kind, direction, {"b", "lengths"})
    agrees(model, tmp_path / "net.onnx", **inputs)


@pytest.mark.parametrize("parts", [{"p"}, {"p", "b", "lengths"}], ids=["alone", "with lengths"])
def test_peepholes_are_imported(parts: set[str], tmp_path: Path) -> None:
    model, inputs = layer("LSTM", "bidirectional", parts)
    agrees(model, tmp_path / "net.onnx", **inputs)


def test_a_layer_of_steps_is_trained(tmp_path: Path) -> None:
    model, inputs = layer("GRU", "forward", {"b"})
    path = saved(model, tmp_path / "net.onnx")
    block = mx.contrib.onnx.import_to_gluon(str(path), mx.cpu())
    arrays = [mx.nd.array(each) for each in inputs.values()]
    trainer = mx.gluon.Trainer(block.collect_params(), "sgd", {"learning_rate": 0.5})
    losses = []
    for _ in range(5):
        with mx.autograd.record():
            loss = ((block(*arrays)[0] - 0.5) ** 2).mean()
        loss.backward()
        trainer.step(1)
        losses.append(float(loss.asscalar()))
    assert losses == sorted(losses, reverse=True) and losses[-1] < 0.9 * losses[0]
