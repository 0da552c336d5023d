"""ONNX export: convert a symbol's graph node by node."""
