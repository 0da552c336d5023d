"""ONNX Runtime's own tool for networks in 8-bit integers."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def quantize(whole: str, path: str, inputs: list[np.ndarray]) -> str:
    """Write an ONNX file in 8-bit integers, unless it is there; its path.

    Args:
        whole: path of the file in float32.
        path: of the new file.
        inputs: whose ranges are taken.
    """
    if Path(path).exists():
        return path
    import onnx
    from onnxruntime.quantization import (
        CalibrationDataReader,
        QuantFormat,
        QuantType,
        quantize_static,
        shape_inference,
    )

    names = [each.name for each in onnx.load(whole, load_external_data=False).graph.input]

    class Reader(CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self._batches = iter([dict(zip(names, inputs, strict=True))])

        def get_next(self) -> dict[str, np.ndarray] | None:
            return next(self._batches, None)

    prepared = f"{path}.prepared"
    shape_inference.quant_pre_process(whole, prepared, skip_symbolic_shape=True)
    quantize_static(
        prepared,
        path,
        Reader(),
        quant_format=QuantFormat.QDQ,
        per_channel=True,
        activation_type=QuantType.QUInt8,  # faster on x86 than signed ones
        weight_type=QuantType.QInt8,
    )
    return path
