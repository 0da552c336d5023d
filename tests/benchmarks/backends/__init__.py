"""Prediction by mixnet's backends, beside ONNX Runtime, PyTorch and the real MXNet."""
