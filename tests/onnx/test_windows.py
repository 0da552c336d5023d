"""Pooling with gaps, uneven padding and places of maxima against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.onnx.models import agrees, floats, model_of
from tests.onnx.runtime import onnx

make = onnx.helper.make_node
WINDOWS: list[dict[str, Any]] = [
    {"kernel_shape": [3, 2], "dilations": [2, 3]},
    {"kernel_shape": [3, 3], "pads": [1, 0, 2, 1], "strides": [2, 2]},
    {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [3, 2], "ceil_mode": 1},
    {"kernel_shape": [2, 3], "strides": [2, 2], "auto_pad": "SAME_UPPER"},
    {"kernel_shape": [2, 2], "dilations": [2, 2], "strides": [3, 2], "pads": [0, 1, 1, 0],
     "ceil_mode": 1},
]  # fmt: skip


@pytest.mark.parametrize("options", WINDOWS, ids=range(len(WINDOWS)))
@pytest.mark.parametrize("kind", ["MaxPool", "AveragePool", "AveragePool+padding", "LpPool"])
def test_pooling_is_imported(kind: str, options: dict[str, Any], tmp_path: Path) -> None:
    kind, _, padding = kind.partition("+")
    own: dict[str, Any] = {"count_include_pad": 1} if padding else {}
    own |= {"p": 3} if kind == "LpPool" else {}
    x = floats(2, 3, 9, 8)
    model = model_of([make(kind, ["x"], ["y"], **options, **own)], {"x": x.shape}, ["y"], opset=19)
    agrees(model, tmp_path / "net.onnx", x=x)


@pytest.mark.parametrize("options", WINDOWS, ids=range(len(WINDOWS)))
@pytest.mark.parametrize("order", [0, 1])
def test_positions_of_maxima_are_imported(
    order: int, options: dict[str, Any], tmp_path: Path
) -> None:
    node = make("MaxPool", ["x"], ["y", "places"], storage_order=order, **options)
    x = floats(2, 3, 9, 8)
    agrees(
        model_of([node], {"x": x.shape}, {"y": "float32", "places": "int64"}),
        tmp_path / "net.onnx",
        x=x,
    )


def test_maxima_are_put_back_at_their_positions(tmp_path: Path) -> None:
    options = {"kernel_shape": [2, 2], "strides": [2, 2]}
    nodes = [
        make("MaxPool", ["x"], ["y", "places"], **options),
        make("MaxUnpool", ["y", "places"], ["z"], **options),
    ]
    x = floats(2, 2, 6, 4)
    agrees(model_of(nodes, {"x": x.shape}, ["z"]), tmp_path / "net.onnx", x=x)


def test_maxima_of_integers_are_exact(tmp_path: Path) -> None:
    x = np.random.default_rng(3).integers(-128, 128, (1, 2, 7), "int8")
    node = make("MaxPool", ["x"], ["y"], kernel_shape=[3], strides=[2], pads=[1, 1])
    model = model_of([node], {"x": ("int8", x.shape)}, {"y": "int8"})
    agrees(model, tmp_path / "net.onnx", x=x)
