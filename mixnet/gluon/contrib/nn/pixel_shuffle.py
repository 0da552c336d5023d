"""Pixel shuffle: rearrange channels into a finer grid. Source: Shi et al., 2016."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mixnet.base import CheckError
from mixnet.gluon.block import HybridBlock

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.gluon.block.tensor import Tensor


class _PixelShuffle(HybridBlock):
    _axes: int

    def __init__(self, factor: int | Sequence[int]):
        super().__init__()
        factors = (factor,) * self._axes if isinstance(factor, int) else tuple(factor)
        if len(factors) != self._axes:
            raise CheckError(
                f"{type(self).__name__}: factor must be one number or {self._axes}, not {factor}."
            )
        self._factors = tuple(int(each) for each in factors)

    def __repr__(self) -> str:
        shown = self._factors[0] if self._axes == 1 else self._factors
        return f"{type(self).__name__}({shown})"


class PixelShuffle1D(_PixelShuffle):
    """Moves channels into the width: ``(N, f·C, W)`` to ``(N, C, W·f)``.

    Args:
        factor: f.
    """

    _axes = 1

    def __init__(self, factor: int | Sequence[int]):
        super().__init__(factor)

    def hybrid_forward(self, F: ModuleType, x: Tensor) -> Any:
        """The rearranged data, with larger spatial extents."""
        (f,) = self._factors
        x = F.reshape(x, (0, -4, -1, f, 0))  # (N, C, f, W)
        x = F.transpose(x, (0, 1, 3, 2))  # (N, C, W, f)
        return F.reshape(x, (0, 0, -3))


class PixelShuffle2D(_PixelShuffle):
    """Moves channels into height and width: ``(N, f1·f2·C, H, W)`` to ``(N, C, H·f1, W·f2)``.

    Args:
        factor: f1 and f2, or one number for both.
    """

    _axes = 2

    def __init__(self, factor: int | Sequence[int]):
        super().__init__(factor)

    def hybrid_forward(self, F: ModuleType, x: Tensor) -> Any:
        """The rearranged data, with larger spatial extents."""
        f1, f2 = self._factors
        x = F.reshape(x, (0, -4, -1, f1 * f2, 0, 0))  # (N, C, f1·f2, H, W)
        x = F.reshape(x, (0, 0, -4, f1, f2, 0, 0))  # (N, C, f1, f2, H, W)
        x = F.transpose(x, (0, 1, 4, 2, 5, 3))  # (N, C, H, f1, W, f2)
        return F.reshape(x, (0, 0, -3, -3))


class PixelShuffle3D(_PixelShuffle):
    """Moves channels into three axes: ``(N, f1·f2·f3·C, D, H, W)`` to ``(N, C, D·f1, H·f2, W·f3)``.

    Args:
        factor: f1, f2 and f3, or one number for all.
    """

    _axes = 3

    def __init__(self, factor: int | Sequence[int]):
        super().__init__(factor)

    def hybrid_forward(self, F: ModuleType, x: Tensor) -> Any:
        """The rearranged data, with larger spatial extents."""
        f1, f2, f3 = self._factors
        x = F.reshape(x, (0, -4, -1, f1 * f2 * f3, 0, 0, 0))  # (N, C, f1·f2·f3, D, H, W)
        x = F.swapaxes(x, 2, 3)  # (N, C, D, f1·f2·f3, H, W)
        x = F.reshape(x, (0, 0, 0, -4, f1, f2 * f3, 0, 0))  # (N, C, D, f1, f2·f3, H, W)
        x = F.reshape(x, (0, 0, -3, 0, 0, 0))  # (N, C, D·f1, f2·f3, H, W)
        x = F.swapaxes(x, 3, 4)  # (N, C, D·f1, H, f2·f3, W)
        x = F.reshape(x, (0, 0, 0, 0, -4, f2, f3, 0))  # (N, C, D·f1, H, f2, f3, W)
        x = F.reshape(x, (0, 0, 0, -3, 0, 0))  # (N, C, D·f1, H·f2, f3, W)
        x = F.swapaxes(x, 4, 5)  # (N, C, D·f1, H·f2, W, f3)
        return F.reshape(x, (0, 0, 0, 0, -3))
