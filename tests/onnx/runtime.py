"""ONNX Runtime as the reference: the results of a file there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx

onnx = pytest.importorskip("onnx", reason="pip install 'mixnet[onnx]' to write ONNX files")
ort = pytest.importorskip("onnxruntime", reason="pip install 'mixnet[dev]' to run ONNX files")


def session(path: str | Path | bytes, optimize: bool = False) -> Any:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    if not optimize:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    model = path if isinstance(path, bytes) else str(path)
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def run(path: str | Path | bytes, *arrays: np.ndarray) -> list[np.ndarray]:
    """Outputs for arrays in the order of the model's inputs."""
    result = session(path)
    return result.run(None, {i.name: a for i, a in zip(result.get_inputs(), arrays, strict=True)})


def exported(symbol: Any, shapes: dict[str, Any], params: Any, path: Path, **options: Any) -> str:
    expected = [shapes[name] for name in symbol.list_inputs() if name in shapes]
    return mx.onnx.export_model(symbol, params, expected, onnx_file_path=str(path), **options)


def agree(
    net: Any, path: Path, *arrays: np.ndarray, tolerance: float = 1e-4, **options: Any
) -> Any:
    """Check that a network computes the same here and in ONNX Runtime; returns the model."""
    net.hybridize()
    inputs = [mx.nd.array(a, dtype=a.dtype) for a in arrays]
    outputs = net(*inputs)
    (name,) = net.export(str(path), format="onnx", **options)
    onnx_outputs = run(name, *arrays)
    leaves = [
        each
        for part in (outputs if isinstance(outputs, (list, tuple)) else [outputs])
        for each in (part if isinstance(part, (list, tuple)) else [part])
    ]
    assert len(leaves) == len(onnx_outputs)
    for ours, theirs in zip(leaves, onnx_outputs, strict=True):
        ours = ours.asnumpy()
        assert ours.shape == theirs.shape
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(theirs, ours, rtol=tolerance, atol=tolerance)
    return onnx.load(name)
