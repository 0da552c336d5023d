"""Padding layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mixnet.base import CheckError
from mixnet.gluon.block import HybridBlock

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.gluon.block.tensor import Tensor


class ReflectionPad2D(HybridBlock):
    """Images ``(batch, channels, height, width)`` padded with their reflection at the border.

    Args:
        padding: rows and columns at each side, or the eight numbers of ``mx.nd.pad``.
        kwargs: ``prefix``, ``params``.

    Raises:
        CheckError: there are not eight numbers; also an AssertionError.
    """

    def __init__(self, padding: int | Sequence[int] = 0, **kwargs: Any):
        super().__init__(**kwargs)
        if isinstance(padding, int):
            padding = (0, 0, 0, 0, padding, padding, padding, padding)
        if len(padding) != 8:
            raise CheckError(
                f"ReflectionPad2D: padding must be one number or eight, not {padding}."
            )
        self._padding = padding

    def hybrid_forward(self, F: ModuleType, x: Tensor) -> Any:
        """The padded images."""
        return F.pad(x, mode="reflect", pad_width=self._padding)
