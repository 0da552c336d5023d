"""The type of ``hybrid_forward``'s inputs: arrays when a block runs, symbols when it is composed."""

from mixnet.ndarray.ndarray import NDArray
from mixnet.symbol.symbol import Symbol

Tensor = NDArray | Symbol
