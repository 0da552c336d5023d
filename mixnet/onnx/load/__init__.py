"""ONNX import: a table that maps ONNX operators to mixnet's operators."""
