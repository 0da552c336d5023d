"""``mx.onnx``: models as ONNX files."""

from mixnet.onnx import mx2onnx as mx2onnx
from mixnet.onnx.metadata import get_model_metadata as get_model_metadata
from mixnet.onnx.mx2onnx import export_model as export_model
from mixnet.onnx.mx2onnx import get_operator_support as get_operator_support
