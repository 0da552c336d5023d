"""Writing the file: parameters inside, or in an external data file if they are too large."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mixnet.files.whole_file import write_whole
from mixnet.onnx.package import onnx_package, type_code

LARGEST = (1 << 31) - (1 << 24)
"""Bytes of parameters that a file of ONNX can hold: protobuf ends at 2 GB."""
_ALIGNED = 4096
_INSIDE = 1024  # smaller arrays, shapes among them, stay inside
_PIECE = 1 << 26  # bytes that are copied at a time


def outside(arrays: Mapping[str, np.ndarray], largest: int = LARGEST) -> frozenset[str]:
    """Names of the arrays that do not lie in the model itself: all but the small ones, if it is too large.

    Args:
        arrays: constants and parameters, by name.
        largest: bytes of them that a model holds.
    """
    large = {name: each.nbytes for name, each in arrays.items() if each.nbytes > _INSIDE}
    return frozenset(large) if sum(large.values()) > largest else frozenset()


def without_content(name: str, array: np.ndarray) -> Any:
    """The ``TensorProto`` of an array outside the model; :func:`write_model` says where."""
    onnx = onnx_package()
    return onnx.TensorProto(
        name=name,
        data_type=type_code(array.dtype),
        dims=array.shape,
        data_location=onnx.TensorProto.EXTERNAL,
    )


def write_model(
    model: Any, path: str | os.PathLike[str], arrays: Mapping[str, np.ndarray] | None = None
) -> None:
    """Write a model; each file is written atomically.

    Args:
        model: a ``ModelProto``.
        path: of the file; the parameters outside the model are in ``path`` + ``.data``.
        arrays: those parameters, by name.

    Raises:
        FileError: it cannot be written.
    """
    tensors = [each for each in model.graph.initializer if _is_outside(each)]
    if tensors:
        data = f"{os.fspath(path)}.data"
        pieces = [(arrays or {})[each.name] for each in tensors]
        write_whole(data, _aligned(pieces))
        _point_outside(tensors, pieces, os.path.basename(data))
    write_whole(path, model.SerializeToString())


def _aligned(pieces: list[np.ndarray]) -> Iterator[bytes]:
    for piece in pieces:
        for start in range(0, max(1, len(piece)), rows := _rows(piece)):
            yield np.ascontiguousarray(piece[start : start + rows]).tobytes()
        yield bytes(-piece.nbytes % _ALIGNED)


def _rows(array: np.ndarray) -> int:
    """How many rows are copied at a time."""
    return max(1, _PIECE * len(array) // max(1, array.nbytes))


def _point_outside(tensors: list[Any], pieces: list[np.ndarray], location: str) -> None:
    offset = 0
    for each, piece in zip(tensors, pieces, strict=True):
        for key, value in (("location", location), ("offset", offset), ("length", piece.nbytes)):
            each.external_data.add(key=key, value=str(value))
        offset += piece.nbytes + (-piece.nbytes % _ALIGNED)


def check(model: Any, path: str | os.PathLike[str]) -> None:
    """Check the written model with ONNX's checker."""
    parts = any(_is_outside(each) for each in model.graph.initializer)
    onnx_package().checker.check_model(os.fspath(path) if parts else model)


def _is_outside(tensor: Any) -> bool:
    return bool(tensor.data_location == onnx_package().TensorProto.EXTERNAL)
