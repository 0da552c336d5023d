"""``import_to_gluon``: an ONNX file as a block."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mixnet.gluon.block import SymbolBlock
from mixnet.onnx.load.import_model import load_model
from mixnet.symbol.symbol import Variable

if TYPE_CHECKING:
    from mixnet.context import Context


def import_to_gluon(
    model_file: str | os.PathLike[str],
    ctx: Context | Sequence[Context] | None = None,
    input_shapes: Mapping[str, Any] | None = None,
) -> SymbolBlock:
    """A ``SymbolBlock`` from an ONNX file: it predicts, and trains on.

    Arrays of floats are trained, except those without axes or with an infinity, which exporters write
    for numbers of the program: their ``grad_req`` is "null".

    Args:
        model_file: its path.
        ctx: a device, or a list, for the parameters; the current one by default.
        input_shapes: shapes of inputs by name, for dynamic dimensions whose sizes nodes have to know; 1 by
            default.

    Raises:
        MissingFileError: there is no such file.
        FileFormatError: it is no ONNX file, or damaged.
        MXNetError: an operator cannot be read; names it and its node.

    Source: MXNet ``mx.contrib.onnx.import_to_gluon``.
    """
    symbol, arguments, states, names, constants = load_model(model_file, input_shapes)
    block = SymbolBlock(symbol, [Variable(name) for name in names if name in symbol.list_inputs()])
    block._set_values({**arguments, **states}, ctx)
    for name, parameter in block.collect_params().items():
        if name in constants:
            parameter.grad_req = "null"
    return block
