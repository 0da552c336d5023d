"""Whole networks: mixnet beside the real MXNet, PyTorch and JAX written by hand."""
