"""``mx.onnx.mx2onnx``: MXNet's path of what writes ONNX files."""

from mixnet.onnx.export.export_model import export_model as export_model
from mixnet.onnx.export.support import get_operator_support as get_operator_support
