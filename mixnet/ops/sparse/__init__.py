"""Sparse arrays: their stored values, and which operators keep them sparse."""

from mixnet.ops.sparse import stored_values as stored_values
