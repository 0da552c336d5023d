"""Iterators over data: mixnet beside the real MXNet and PyTorch's DataLoader."""
