"""``export_model``: save a symbol and its parameters as an ONNX file."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mixnet.base import AttributeValueError
from mixnet.export.network import network_of
from mixnet.onnx.export.file import LARGEST, check, write_model
from mixnet.onnx.export.model import to_model
from mixnet.onnx.package import NEWEST_WRITTEN, OLDEST_WRITTEN, onnx_package

if TYPE_CHECKING:
    from mixnet.symbol.symbol import Symbol

DEFAULT_OPSET = 17
"""Operator set that is written by default: runtimes of the last years read it."""


def export_model(
    sym: Symbol | str,
    params: object,
    in_shapes: object = None,
    in_types: object = np.float32,
    onnx_file_path: str = "model.onnx",
    verbose: bool = False,
    dynamic: bool = False,
    dynamic_input_shapes: object = None,
    run_shape_inference: bool = False,
    input_type: object = None,
    input_shape: object = None,
    opset_version: int | None = None,
    input_names: Sequence[str] | None = None,
) -> str:
    """Write a symbol and its parameters as an ONNX file, for prediction.

    Args:
        sym: a symbol, or the path of its file.
        params: arrays by name, optionally with ``arg:`` and ``aux:``; a list of such dicts, or the path
            of their file.
        in_shapes: shapes of the inputs, in the order of ``sym.list_inputs()`` without parameters and labels.
        in_types: dtypes of the inputs in that order, or one for all.
        onnx_file_path: path of the model. Parameters of more than 2 GB are written to a file next to it.
        verbose: log progress.
        dynamic: export dynamic input dimensions.
        dynamic_input_shapes: with ``dynamic``: ``in_shapes`` with None or a name for dynamic dimensions;
            by default all are dynamic.
        run_shape_inference: let ONNX infer the shapes of all results; those of results that the
            symbol names are always in the file.
        input_type: the older name of ``in_types``.
        input_shape: the older name of ``in_shapes``.
        opset_version: ONNX's operator set, 13 to 28; 17 by default.
        input_names: the inputs in the order of the arguments above and of the file; by default the symbol's.

    Returns:
        ``onnx_file_path``.

    Raises:
        MXNetError: an operator has no ONNX equivalent; names it, its node and the user's line. Or the package
            ``onnx`` is missing.
        ShapeError: shapes are missing or do not match.
        FileError: the file cannot be written.

    Source: MXNet ``mx.onnx.export_model``; ONNX, Open Neural Network Exchange.
    """
    onnx = onnx_package()
    opset = checked_opset(opset_version)
    shapes = in_shapes if input_shape is None else input_shape
    types = in_types if input_type is None else input_type
    network = network_of(
        sym, params, shapes, types, dynamic, dynamic_input_shapes, input_names=input_names
    )
    model, builder = to_model(
        network.graph, network.inputs, network.params, network.output_names, opset, LARGEST
    )
    if run_shape_inference:
        model = onnx.shape_inference.infer_shapes(model)
    write_model(model, onnx_file_path, builder.constants)
    check(model, onnx_file_path)
    if verbose:
        logging.info("%s: %d nodes, operator set %d", onnx_file_path, len(model.graph.node), opset)
    return onnx_file_path


def checked_opset(version: int | None) -> int:
    """The operator set to write.

    Raises:
        AttributeValueError: it is not supported.
    """
    if version is None:
        return DEFAULT_OPSET
    newest = min(NEWEST_WRITTEN, onnx_package().defs.onnx_opset_version())
    if not isinstance(version, int) or not OLDEST_WRITTEN <= version <= newest:
        raise AttributeValueError(
            f"opset_version={version!r}: operator sets {OLDEST_WRITTEN} to {newest} can be "
            "written. Give one of "
            f"them, or nothing for {DEFAULT_OPSET}."
        )
    return version
