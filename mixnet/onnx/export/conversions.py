"""All conversions and rules; importing this module fills both tables."""

from mixnet.onnx.export import elementwise as elementwise
from mixnet.onnx.export import fused_layers as fused_layers
from mixnet.onnx.export import integer_sums as integer_sums
from mixnet.onnx.export import integers as integers
from mixnet.onnx.export import layers as layers
from mixnet.onnx.export import primitive_loops as primitive_loops
from mixnet.onnx.export import primitive_places as primitive_places
from mixnet.onnx.export import primitive_rules as primitive_rules
from mixnet.onnx.export import primitive_windows as primitive_windows
from mixnet.onnx.export import random as random
from mixnet.onnx.export import reasons as reasons
from mixnet.onnx.export import recurrent as recurrent
from mixnet.onnx.export import reduce as reduce
from mixnet.onnx.export import shape as shape
