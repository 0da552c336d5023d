"""``mx.contrib.onnx``: the old import path of ``mx.onnx``, and ONNX import."""

from __future__ import annotations

from typing import Any

from mixnet.contrib.onnx import onnx2mx as onnx2mx
from mixnet.contrib.onnx.onnx2mx import get_model_metadata as get_model_metadata
from mixnet.contrib.onnx.onnx2mx import import_model as import_model
from mixnet.contrib.onnx.onnx2mx import import_to_gluon as import_to_gluon


def export_model(*args: Any, **kwargs: Any) -> Any:
    """Write a symbol and its parameters as an ONNX file."""
    from mixnet.onnx import export_model as write  # who exports nothing need not wait for it

    return write(*args, **kwargs)


# MXNet has these names too.
import_model_, get_model_metadata_, import_to_gluon_, export_model_ = (
    import_model,
    get_model_metadata,
    import_to_gluon,
    export_model,
)
