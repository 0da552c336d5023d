"""Padding layers."""

from __future__ import annotations

from typing import Any

from mixnet.base import CheckError
from mixnet.gluon.block import HybridBlock


class ReflectionPad2D(HybridBlock):
    """Images ``(batch, channels, height, width)`` padded with their reflection at the border.

    Args:
        padding: rows and columns at each side, or the eight numbers of ``mx.nd.pad``.
        kwargs: ``prefix``, ``params``.

    Raises:
        CheckError: there are not eight numbers; also an AssertionError.
    """

    def __init__(self, padding: Any = 0, **kwargs: Any):
        super().__init__(**kwargs)
        if isinstance(padding, int):
            padding = (0, 0, 0, 0, padding, padding, padding, padding)
        if len(padding) != 8:
            raise CheckError(f"ReflectionPad2D: padding is one number or eight, not {padding}.")
        self._padding = padding

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """The padded images."""
        return F.pad(x, mode="reflect", pad_width=self._padding)
