"""``export_model``: a symbol and its parameters as an ONNX file."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mixnet.base import AttributeTypeError, AttributeValueError, ShapeError, did_you_mean
from mixnet.dtype import as_dtype
from mixnet.ndarray.params_file import load as load_arrays
from mixnet.onnx.export.file import check, write_model
from mixnet.onnx.export.model import Input, read_in_prediction, to_model
from mixnet.onnx.package import NEWEST_WRITTEN, OLDEST_WRITTEN, onnx_package
from mixnet.passes.complete_shapes import complete_shapes
from mixnet.passes.set_training import set_training
from mixnet.symbol.symbol import Symbol
from mixnet.symbol.symbol import load as load_symbol

DEFAULT_OPSET = 17
"""Operator set that is written by default: runtimes of the last years read it."""


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
    opset_version: int | None = None,
) -> str:
    """Write a symbol and its parameters as an ONNX file, for prediction.

    Args:
        sym: a symbol, or the path of its file.
        params: arrays by name, with or without ``arg:`` and ``aux:`` before it; a list of such dicts, or the path
            of their file.
        in_shapes: shapes of the inputs, in the order of ``sym.list_inputs()`` without parameters and labels.
        in_types: dtypes of the inputs in that order, or one for all.
        onnx_file_path: where the model goes. Parameters of more than 2 GB go to a file beside it.
        verbose: log what is done.
        dynamic: leave extents of the inputs to the model's user.
        dynamic_input_shapes: with ``dynamic``: ``in_shapes`` with None, or a name, for an extent that is left
            open; by default all are.
        run_shape_inference: let ONNX infer the shapes of all results as well; those of results that the
            symbol names are in the file anyway.
        input_type: the older name of ``in_types``.
        input_shape: the older name of ``in_shapes``.
        opset_version: ONNX's operator set, 13 to 26; 17 by default.

    Returns:
        ``onnx_file_path``.

    Raises:
        MXNetError: an operator has no form in ONNX: names it, its node and the user's line. Or the package
            ``onnx`` is missing.
        ShapeError: shapes are missing, or do not fit.
        FileError: the file cannot be written.

    Source: MXNet ``mx.onnx.export_model``; ONNX, Open Neural Network Exchange.
    """
    onnx = onnx_package()
    opset = checked_opset(opset_version)
    symbol = sym if isinstance(sym, Symbol) else load_symbol(_path("sym", sym))
    arrays = _arrays(params)
    shapes = in_shapes if input_shape is None else input_shape
    types = in_types if input_type is None else input_type
    inputs = _inputs(symbol, arrays, shapes, types)
    known = {each.name: each.shape for each in inputs} | {n: a.shape for n, a in arrays.items()}
    graph = set_training(complete_shapes(symbol.graph, known), False)
    if dynamic:
        inputs = _opened(inputs, dynamic_input_shapes)
    names = [name.removesuffix("_output") for name in symbol.list_outputs()]
    model, _ = to_model(graph, inputs, arrays, _different(names), opset)
    if run_shape_inference:
        model = onnx.shape_inference.infer_shapes(model)
    write_model(model, onnx_file_path)
    check(model, onnx_file_path)
    if verbose:
        logging.info("%s: %d nodes, operator set %d", onnx_file_path, len(model.graph.node), opset)
    return onnx_file_path


def checked_opset(version: int | None) -> int:
    """The operator set to write.

    Raises:
        AttributeValueError: it cannot be written.
    """
    if version is None:
        return DEFAULT_OPSET
    newest = min(NEWEST_WRITTEN, onnx_package().defs.onnx_opset_version())
    if not isinstance(version, int) or not OLDEST_WRITTEN <= version <= newest:
        raise AttributeValueError(
            f"opset_version={version!r}: operator sets {OLDEST_WRITTEN} to {newest} can be written. Give one of "
            f"them, or nothing for {DEFAULT_OPSET}."
        )
    return version


def _path(name: str, given: Any) -> str:
    if isinstance(given, (str, os.PathLike)):
        return os.fspath(given)
    raise AttributeTypeError(
        f"export_model: {name}={given!r:.60} is neither a symbol and its arrays nor paths of their files."
    )


def _arrays(params: Any) -> dict[str, np.ndarray]:
    """Arrays by name, without ``arg:`` and ``aux:``."""
    if isinstance(params, (list, tuple)):
        return {name: array for part in params for name, array in _arrays(part).items()}
    if not isinstance(params, Mapping):
        params = load_arrays(_path("params", params))
        if not isinstance(params, Mapping):
            raise AttributeValueError("export_model: the file of params has arrays without names.")
    found = {}
    for name, array in params.items():
        array = array.data() if hasattr(array, "list_ctx") else array  # a parameter of Gluon
        found[name.removeprefix("arg:").removeprefix("aux:")] = np.asarray(
            array.asnumpy() if hasattr(array, "asnumpy") else array
        )
    return found


def _inputs(symbol: Symbol, arrays: Mapping[str, Any], shapes: Any, types: Any) -> list[Input]:
    names = [node.name for node in read_in_prediction(symbol.graph) if node.name not in arrays]
    shapes = [] if shapes is None else list(shapes)
    if shapes and isinstance(shapes[0], int):
        shapes = [tuple(shapes)]
    labels = [n for n in symbol.list_inputs() if n not in arrays and n not in names]
    if len(shapes) == len(names) + len(
        labels
    ):  # shapes of labels too, which prediction does not read
        wanted = [n for n in symbol.list_inputs() if n not in arrays]
        shapes = [shape for name, shape in zip(wanted, shapes, strict=True) if name in names]
    if len(shapes) != len(names):
        missing = (
            f" A parameter without an array counts as one.{_near(names, arrays)}" if arrays else ""
        )
        raise ShapeError(
            f"export_model: in_shapes has {len(shapes)} shape(s), but the inputs are "
            f"{', '.join(map(repr, names)) or 'none'}. Give one shape for each, in this order.{missing}"
        )
    kinds = list(types) if isinstance(types, (list, tuple)) else [types] * len(names)
    if len(kinds) != len(names):
        raise AttributeValueError(
            f"export_model: in_types has {len(kinds)} dtypes for {len(names)} inputs."
        )
    return [
        Input(n, tuple(int(e) for e in s), np.dtype(as_dtype(t)))
        for n, s, t in zip(names, shapes, kinds, strict=True)
    ]


def _near(names: Sequence[str], arrays: Mapping[str, Any]) -> str:
    return did_you_mean(names[-1], arrays) if names else ""


def _opened(inputs: Sequence[Input], shapes: Any) -> list[Input]:
    """The inputs with open extents."""
    if shapes is None:
        shapes = [(None,) * len(each.shape) for each in inputs]
    if len(shapes) != len(inputs) or any(
        len(s) != len(i.shape) for s, i in zip(shapes, inputs, strict=False)
    ):
        raise ShapeError(
            f"export_model: dynamic_input_shapes={shapes} does not go with the inputs "
            f"{', '.join(f'{each.name}{each.shape}' for each in inputs)}. Give each of their shapes, with None "
            f"or a name for an extent that stays open."
        )
    return [Input(i.name, tuple(s), i.dtype) for i, s in zip(inputs, shapes, strict=True)]


def _different(names: Sequence[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        number, made = 0, name
        while made in found:
            number += 1
            made = f"{name}_{number}"
        found.append(made)
    return found
