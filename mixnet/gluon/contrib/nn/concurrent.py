"""Parallel blocks, and the identity block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mixnet import ndarray as nd
from mixnet.gluon.block import HybridBlock, ParameterDict
from mixnet.gluon.nn.container import HybridSequential, Sequential

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.gluon.block.tensor import Tensor


class Concurrent(Sequential):
    """Parallel blocks on the same input; their outputs are concatenated.

    Args:
        axis: of the concatenation.
        prefix: prefix of its parameters' names.
        params: parameters to share.
    """

    def __init__(
        self, axis: int = -1, prefix: str | None = None, params: ParameterDict | None = None
    ):
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def forward(self, x: Tensor) -> Any:
        """The concatenated outputs of all blocks."""
        return nd.concat(*[block(x) for block in self._children.values()], dim=self.axis)


class HybridConcurrent(HybridSequential):
    """Parallel hybrid blocks on the same input; their outputs are concatenated.

    Args:
        axis: of the concatenation.
        prefix: prefix of its parameters' names.
        params: parameters to share.
    """

    def __init__(
        self, axis: int = -1, prefix: str | None = None, params: ParameterDict | None = None
    ):
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def hybrid_forward(self, F: ModuleType, x: Tensor) -> Any:
        """The concatenated outputs of all blocks."""
        return F.concat(*[block(x) for block in self._children.values()], dim=self.axis)


class Identity(HybridBlock):
    """Returns its input: the shortcut in a ``HybridConcurrent``.

    Args:
        prefix: prefix of its parameters' names.
        params: parameters to share.
        unknown: any other argument is an error.
    """

    def hybrid_forward(self, F: ModuleType, x: Tensor) -> Any:
        """The input, unchanged."""
        return x
