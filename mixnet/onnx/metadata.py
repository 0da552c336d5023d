"""Names and shapes of the inputs and outputs of an ONNX file."""

from __future__ import annotations

import os
from typing import Any

from mixnet.base import FileFormatError
from mixnet.files.reading import content_of
from mixnet.onnx.package import onnx_package


def read_model(path: str | os.PathLike[str]) -> Any:
    """The ``ModelProto`` of a file, without external data.

    Raises:
        MissingFileError: there is no such file.
        FileFormatError: it is not an ONNX file, or it is damaged.
        MXNetError: the package ``onnx`` is missing.
    """
    onnx = onnx_package()
    model = onnx.ModelProto()
    try:
        model.ParseFromString(content_of(path))
    except Exception as error:  # protobuf has a DecodeError of its own
        if type(error).__name__ != "DecodeError":
            raise
        raise FileFormatError(
            f"{os.fspath(path)} is not an ONNX file, or it is damaged: {error}."
        ) from None
    if not model.HasField("graph"):
        raise FileFormatError(f"{os.fspath(path)} is not an ONNX file: it has no graph.")
    return model


def get_model_metadata(
    model_file: str | os.PathLike[str],
) -> dict[str, list[tuple[str, tuple[Any, ...]]]]:
    """Names and shapes of inputs and outputs of an ONNX file.

    Args:
        model_file: its path.

    Returns:
        ``input_tensor_data`` and ``output_tensor_data``: lists of names and shapes; 0 is
        a dynamic dimension.

    Raises:
        MissingFileError: there is no such file.
        FileFormatError: it is not an ONNX file, or it is damaged.
    """
    graph = read_model(model_file).graph
    inside = {each.name for each in graph.initializer}
    return {
        "input_tensor_data": [
            (each.name, _shape(each)) for each in graph.input if each.name not in inside
        ],
        "output_tensor_data": [(each.name, _shape(each)) for each in graph.output],
    }


def _shape(info: Any) -> tuple[int, ...]:
    return tuple(each.dim_value for each in info.type.tensor_type.shape.dim)
