"""All readers; importing this module fills the table."""

from mixnet.onnx.load import elementwise as elementwise
from mixnet.onnx.load import integers as integers
from mixnet.onnx.load import layers as layers
from mixnet.onnx.load import learned as learned
from mixnet.onnx.load import loops as loops
from mixnet.onnx.load import places as places
from mixnet.onnx.load import recurrent as recurrent
from mixnet.onnx.load import reduce as reduce
from mixnet.onnx.load import resize as resize
from mixnet.onnx.load import shape as shape
from mixnet.onnx.load import trees as trees
from mixnet.onnx.load import windows as windows
