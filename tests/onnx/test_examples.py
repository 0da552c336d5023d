"""Networks of the kinds that examples and lessons train: written, checked, run by ONNX Runtime
with another batch, and read again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from tests.onnx.example_blocks import BLOCKS
from tests.onnx.example_symbols import SYMBOLS
from tests.onnx.runtime import onnx, session

TOLERANCE = 1e-4
"""Largest difference, of the largest number of an output."""


def near(actual: Any, expected: Any) -> None:
    """Check that lists of arrays hold the same numbers."""
    assert len(actual) == len(expected)
    for theirs, ours in zip(actual, expected, strict=True):
        ours = ours.asnumpy() if hasattr(ours, "asnumpy") else ours
        theirs = theirs.asnumpy() if hasattr(theirs, "asnumpy") else theirs
        assert theirs.shape == ours.shape
        assert theirs.dtype == ours.dtype
        assert np.isfinite(ours).all()
        assert np.abs(theirs - ours).max() <= TOLERANCE * max(np.abs(ours).max(), 1e-3)


def listed(results: Any) -> list[Any]:
    return list(results) if isinstance(results, (list, tuple)) else [results]


def run_and_read_again(path: str, data: dict[str, np.ndarray], expected: list[Any]) -> None:
    """Check what ONNX Runtime computes, and what the file is when it is read."""
    near(session(path).run(None, data), expected)
    shapes = {name: each.shape for name, each in data.items()}
    block = mx.contrib.onnx.import_to_gluon(path, mx.cpu(), shapes)
    names = [each.name for each in onnx.load(path).graph.input]
    near(listed(block(*[mx.nd.array(data[name]) for name in names])), expected)


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_are_exported_and_read_again(name: str, tmp_path: Path) -> None:
    mx.random.seed(1)
    net, arrays = BLOCKS[name]()
    net.initialize(mx.init.Normal(0.5))
    net.hybridize()
    three = [np.concatenate([each, each[:1]])[::-1].copy() for each in arrays]
    ours = [listed(net(*map(mx.nd.array, each))) for each in (arrays, three)]
    shapes = [("batch", *each.shape[1:]) for each in arrays]
    (path,) = net.export(str(tmp_path / "net"), format="onnx", dynamic_input_shapes=shapes)
    onnx.checker.check_model(path, full_check=True)
    names = [each.name for each in onnx.load(path).graph.input]
    for inputs, expected in zip((arrays, three), ours, strict=True):
        run_and_read_again(path, dict(zip(names, inputs, strict=True)), expected)


def parameters(symbol: Any, shapes: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Random arguments and states; positive ones for states, which are means and variances."""
    rng = np.random.default_rng(2)
    result, _, states = symbol.infer_shape(**shapes)
    arguments = {
        name: mx.nd.array(rng.uniform(-0.5, 0.5, shape))
        for name, shape in zip(symbol.list_arguments(), result, strict=True)
        if name not in shapes and not name.endswith("label")
    }
    names = symbol.list_auxiliary_states()
    return arguments, {
        n: mx.nd.array(rng.uniform(0.5, 1, s)) for n, s in zip(names, states, strict=True)
    }


def numbers(name: str, shape: tuple[int, ...], limit: int | None) -> np.ndarray:
    """Numbers of an input; whole ones below a limit, from 1 to it where it is negative."""
    rng = np.random.default_rng(len(name))
    if limit is None:
        return rng.uniform(-1, 1, shape).astype("float32")
    return (
        rng.integers(0, limit, shape) if limit > 0 else rng.integers(1, 1 - limit, shape)
    ).astype("float32")


@pytest.mark.parametrize("name", SYMBOLS)
def test_symbols_are_exported_and_read_again(name: str, tmp_path: Path) -> None:
    symbol, shapes, limits = SYMBOLS[name]()
    arguments, states = parameters(symbol, shapes)
    order = [each for each in symbol.list_inputs() if each in shapes]
    path = mx.onnx.export_model(
        symbol, [arguments, states], [shapes[each] for each in order],
        onnx_file_path=str(tmp_path / "net.onnx"), dynamic=True,
        dynamic_input_shapes=[("batch", *shapes[each][1:]) for each in order],
    )  # fmt: skip
    onnx.checker.check_model(path, full_check=True)
    for batch in (2, 3):
        data = {n: numbers(n, (batch, *shape[1:]), limits.get(n)) for n, shape in shapes.items()}
        executor = symbol.simple_bind(
            mx.cpu(), grad_req="null", **{n: each.shape for n, each in data.items()}
        )
        executor.copy_params_from(arguments, states)
        expected = executor.forward(**{n: mx.nd.array(each) for n, each in data.items()})
        run_and_read_again(path, data, expected)
