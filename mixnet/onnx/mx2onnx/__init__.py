"""Writing ONNX files, which mixnet does not do yet."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from mixnet.base import MXNetError


def _refuse(name: str) -> NoReturn:
    raise MXNetError(
        f"{name}: writing ONNX files is not part of mixnet yet. Save the model with net.export() or "
        f"mx.model.save_checkpoint(); MXNet 1.9.1 reads these files, and its mx.onnx.export_model "
        f"writes the ONNX file."
    )


def export_model(
    sym: Any,
    params: Any,
    in_shapes: Any = None,
    in_types: Any = np.float32,
    onnx_file_path: str = "model.onnx",
    verbose: bool = False,
    dynamic: bool = False,
    dynamic_input_shapes: Any = None,
    run_shape_inference: bool = False,
    input_type: Any = None,
    input_shape: Any = None,
) -> str:
    """Write a symbol and its parameters as an ONNX file.

    Raises:
        MXNetError: always.
    """
    _refuse("export_model")


def get_operator_support(opset_version: int | None = None) -> Any:
    """Names of the operators that can be written.

    Raises:
        MXNetError: always.
    """
    _refuse("get_operator_support")
