"""``import_model``: load an ONNX file as a symbol and its parameters."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from mixnet.base import FileFormatError, MXNetError
from mixnet.files.reading import opened
from mixnet.ndarray.create import array
from mixnet.ndarray.ndarray import NDArray
from mixnet.onnx.load.graph import read_graph
from mixnet.onnx.metadata import read_model
from mixnet.onnx.package import onnx_package
from mixnet.symbol.symbol import Symbol

Arrays = dict[str, NDArray]


def import_model(
    model_file: str | os.PathLike[str], input_shapes: Mapping[str, Any] | None = None
) -> tuple[Symbol, Arrays, Arrays]:
    """A symbol and its parameters from an ONNX file.

    Args:
        model_file: its path. External parameters are read only from its folder.
        input_shapes: shapes of inputs by name. The symbol has no operators that compute with extents, so
            MXNet reads its file. If the network needs any, it is one for these shapes alone, and another
            shape is an error. Dynamic dimensions of other inputs stay dynamic.

    Returns:
        The symbol, its arguments and its auxiliary states by name.

    Raises:
        MissingFileError: there is no such file.
        FileFormatError: it is not an ONNX file, or it is damaged.
        ShapeError: a shape does not match the file's.
        MXNetError: an operator cannot be read; names it and its node. Or the package ``onnx`` is missing.

    Source: MXNet ``mx.contrib.onnx.import_model``; ONNX, Open Neural Network Exchange.
    """
    symbol, arguments, states, _, _ = load_model(model_file, input_shapes, fixed=True)
    return symbol, arguments, states


def load_model(
    path: str | os.PathLike[str], shapes: Mapping[str, Any] | None, fixed: bool = False
) -> tuple[Symbol, Arrays, Arrays, list[str], set[str]]:
    """The result of ``import_model``, names of the inputs, and of the arguments that are not trained."""
    model = read_model(path)
    return from_proto(model, os.fspath(path), shapes, fixed)


def from_proto(
    model: Any, path: str, shapes: Mapping[str, Any] | None = None, fixed: bool = False
) -> tuple[Symbol, Arrays, Arrays, list[str], set[str]]:
    """The result of :func:`load_model`, from a ``ModelProto``.

    Args:
        model: of ONNX.
        path: of its file, for external parameters and error messages.
        shapes: of inputs with dynamic dimensions.
        fixed: whether the symbol is one for these shapes alone.
    """
    folder = os.path.dirname(os.path.abspath(path))
    arrays = {each.name: _array(each, folder, path) for each in model.graph.initializer}
    try:
        symbol, read, inputs = read_graph(model, shapes, arrays, fixed)
    except MXNetError as error:
        raise type(error)(f"{path}: {error}") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # Names that are no text, attributes of another kind: what only a damaged file has.
        text = (str(error).splitlines() or [""])[0]
        raise FileFormatError(f"{path} is damaged: {text or type(error).__name__}.") from None
    states = set(symbol.list_auxiliary_states())
    parameters = {
        name: array(read.used[name], dtype=read.used[name].dtype)
        for name in symbol.list_inputs()
        if name in read.used
    }
    arguments = {name: each for name, each in parameters.items() if name not in states}
    auxiliary = {name: each for name, each in parameters.items() if name in states}
    return symbol, arguments, auxiliary, inputs, read.constants


def _array(tensor: Any, folder: str, path: str) -> np.ndarray:
    onnx = onnx_package()
    if any(extent < 0 for extent in tensor.dims):
        raise FileFormatError(
            f"{path}: parameter {tensor.name!r} has a negative extent; the file is damaged."
        )
    try:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            return _outside(tensor, folder, path)
        return np.array(onnx.numpy_helper.to_array(tensor))
    except (
        TypeError,
        ValueError,
        KeyError,
        OverflowError,
        MemoryError,
        NotImplementedError,
    ) as error:
        if isinstance(error, MXNetError):
            raise
        raise FileFormatError(f"{path}: parameter {tensor.name!r} is damaged: {error}.") from None


def _outside(tensor: Any, folder: str, path: str) -> np.ndarray:
    """A parameter from an external file in the model's folder."""
    entries = {each.key: each.value for each in tensor.external_data}
    location = entries.get("location", "")
    place = os.path.realpath(os.path.join(folder, location))
    if (
        not location
        or os.path.isabs(location)
        or os.path.commonpath([place, os.path.realpath(folder)]) != os.path.realpath(folder)
    ):
        raise FileFormatError(
            f"{path}: parameter {tensor.name!r} refers to {location!r}, outside the model's "
            f"folder, where nothing is read."
        )
    dtype = np.dtype(onnx_package().helper.tensor_dtype_to_np_dtype(tensor.data_type))
    count = int(np.prod(tensor.dims, dtype=np.float64))
    with opened(place) as file:
        file.seek(int(entries.get("offset", 0)))
        content = file.read(count * dtype.itemsize)
    if len(content) != count * dtype.itemsize:
        raise FileFormatError(
            f"{place} ends before parameter {tensor.name!r} does; the file is damaged."
        )
    return np.frombuffer(content, dtype).reshape(tuple(tensor.dims)).copy()
