"""Sparse arrays: stored values, and the operators that preserve sparsity."""

from mixnet.ops.sparse import stored_values as stored_values
