"""Models that sklearn trained and skl2onnx wrote, with sklearn's own predictions."""
