"""All conversions and rules: importing this module fills both tables."""

import mixnet.onnx.export.elementwise as elementwise
import mixnet.onnx.export.layers as layers
import mixnet.onnx.export.primitive_rules as primitive_rules
import mixnet.onnx.export.primitive_windows as primitive_windows
import mixnet.onnx.export.random as random
import mixnet.onnx.export.reasons as reasons
import mixnet.onnx.export.recurrent as recurrent
import mixnet.onnx.export.reduce as reduce
import mixnet.onnx.export.shape as shape
