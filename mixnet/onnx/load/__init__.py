"""Reading ONNX files: a table of how each ONNX operator is computed by operators of mixnet."""
