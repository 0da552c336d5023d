"""``mx.contrib.onnx.onnx2mx``: MXNet's path of what reads ONNX files."""

from mixnet.contrib.onnx.onnx2mx.as_block import import_to_gluon as import_to_gluon
from mixnet.onnx.load.import_model import import_model as import_model
from mixnet.onnx.metadata import get_model_metadata as get_model_metadata
