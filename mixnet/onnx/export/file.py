"""Writing the file: parameters inside, or in an external data file if they are too large."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from mixnet.files.whole_file import write_whole
from mixnet.onnx.package import onnx_package

LARGEST = (1 << 31) - (1 << 24)
"""Bytes of parameters that a file of ONNX can hold: protobuf ends at 2 GB."""
_ALIGNED = 4096
_INSIDE = 1024  # smaller arrays, shapes among them, stay inside


def write_model(model: Any, path: str | os.PathLike[str], largest: int = LARGEST) -> None:
    """Write a model; each file is written atomically.

    Args:
        model: a ``ModelProto``; external parameters are moved out of it.
        path: of the file; external parameters are in ``path`` + ``.data``.
        largest: bytes of parameters above which they are external.

    Raises:
        FileError: it cannot be written.
    """
    tensors = [each for each in model.graph.initializer if len(each.raw_data) > _INSIDE]
    if sum(len(each.raw_data) for each in tensors) > largest:
        data = f"{os.fspath(path)}.data"
        pieces = [each.raw_data for each in tensors]
        write_whole(data, _aligned(pieces))
        _point_outside(tensors, os.path.basename(data))
    write_whole(path, model.SerializeToString())


def _aligned(pieces: list[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        yield piece
        yield bytes(-len(piece) % _ALIGNED)


def _point_outside(tensors: list[Any], location: str) -> None:
    onnx, offset = onnx_package(), 0
    for each in tensors:
        size = len(each.raw_data)
        each.ClearField("raw_data")
        each.data_location = onnx.TensorProto.EXTERNAL
        for key, value in (("location", location), ("offset", offset), ("length", size)):
            each.external_data.add(key=key, value=str(value))
        offset += size + (-size % _ALIGNED)


def check(model: object, path: str | os.PathLike[str]) -> None:
    """Check the written model with ONNX's checker."""
    onnx_package().checker.check_model(os.fspath(path) if _is_outside(model) else model)


def _is_outside(model: Any) -> bool:
    external = onnx_package().TensorProto.EXTERNAL
    return any(each.data_location == external for each in model.graph.initializer)
