"""Writing ONNX files: a walk over a symbol's graph, with a conversion for every operator."""
