"""``mx.contrib.onnx``: the old path of ``mx.onnx``, and reading of ONNX files."""

from __future__ import annotations

from typing import Any

from mixnet.contrib.onnx import onnx2mx as onnx2mx
from mixnet.contrib.onnx.onnx2mx import get_model_metadata as get_model_metadata_
from mixnet.contrib.onnx.onnx2mx import import_model as import_model_
from mixnet.contrib.onnx.onnx2mx import import_to_gluon as import_to_gluon_
from mixnet.onnx import export_model as export_model_


def import_model(*args: Any, **kwargs: Any) -> Any:
    """A symbol and its parameters from an ONNX file."""
    return import_model_(*args, **kwargs)


def get_model_metadata(*args: Any, **kwargs: Any) -> Any:
    """Names and shapes of inputs and outputs of an ONNX file."""
    return get_model_metadata_(*args, **kwargs)


def import_to_gluon(*args: Any, **kwargs: Any) -> Any:
    """A ``SymbolBlock`` from an ONNX file."""
    return import_to_gluon_(*args, **kwargs)


def export_model(*args: Any, **kwargs: Any) -> Any:
    """Write a symbol and its parameters as an ONNX file."""
    return export_model_(*args, **kwargs)
