"""``mx.onnx.mx2onnx``: MXNet's import path of the ONNX exporter."""

from mixnet.onnx.export.export_model import export_model as export_model
from mixnet.onnx.export.support import get_operator_support as get_operator_support
