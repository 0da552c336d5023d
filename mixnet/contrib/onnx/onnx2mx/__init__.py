"""``mx.contrib.onnx.onnx2mx``: MXNet's import path of the ONNX importer, loaded on first use."""

from __future__ import annotations

from typing import Any


def import_model(*args: Any, **kwargs: Any) -> Any:
    """A symbol and its parameters from an ONNX file."""
    from mixnet.onnx.load.import_model import import_model as read

    return read(*args, **kwargs)


def get_model_metadata(*args: Any, **kwargs: Any) -> Any:
    """Names and shapes of inputs and outputs of an ONNX file."""
    from mixnet.onnx.metadata import get_model_metadata as read

    return read(*args, **kwargs)


def import_to_gluon(*args: Any, **kwargs: Any) -> Any:
    """A ``SymbolBlock`` from an ONNX file."""
    from mixnet.contrib.onnx.onnx2mx.as_block import import_to_gluon as read

    return read(*args, **kwargs)
