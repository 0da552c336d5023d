"""Small models that the package onnx writes and mixnet computes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import mixnet as mx
from tests.onnx.runtime import onnx, run

RNG = np.random.default_rng(5)


def floats(*shape: int) -> np.ndarray:
    """Random numbers between -1 and 1."""
    return RNG.uniform(-1, 1, shape).astype("float32")


def model_of(
    nodes: list[Any],
    inputs: dict[str, Any],
    outputs: list[str] | dict[str, str],
    opset: int = 17,
    **arrays: Any,
) -> Any:
    """A model of nodes.

    Args:
        nodes: of the graph.
        inputs: shapes by name, or pairs of an array's dtype and shape; float32 by default.
        outputs: names, or dtypes by name; float32 by default.
        opset: of ONNX's main domain.
        arrays: parameters by name.
    """
    helper = onnx.helper
    graph = helper.make_graph(
        nodes,
        "test",
        [_info(n, s) for n, s in inputs.items()],
        [_info(n, (outputs[n] if isinstance(outputs, dict) else "float32", None)) for n in outputs],
        [onnx.numpy_helper.from_array(np.asarray(a), n) for n, a in arrays.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def _info(name: str, kind: Any) -> Any:
    helper = onnx.helper
    dtype, shape = (
        kind if isinstance(kind, tuple) and isinstance(kind[0], str) else ("float32", kind)
    )
    return helper.make_tensor_value_info(
        name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape
    )


def saved(model: Any, path: Path) -> Path:
    """The file of a model."""
    path.write_bytes(model.SerializeToString())
    return path


def agrees(model: Any, path: Path, tolerance: float = 1e-5, **inputs: np.ndarray) -> None:
    """Check that a model computes the same here and in ONNX Runtime."""
    onnx_outputs = run(model.SerializeToString(), *inputs.values())
    outputs = computed(model, path, **inputs)
    assert len(outputs) == len(onnx_outputs)
    for ours, theirs in zip(outputs, onnx_outputs, strict=True):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def computed(model: Any, path: Path, **inputs: np.ndarray) -> list[np.ndarray]:
    """The outputs of a model here."""
    symbol, arguments, states = mx.contrib.onnx.import_model(saved(model, path))
    bound = {n: mx.nd.array(a, dtype=a.dtype) for n, a in inputs.items()} | arguments
    return [each.asnumpy() for each in symbol.bind(mx.cpu(), bound, aux_states=states).forward()]
