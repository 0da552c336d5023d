"""Pooling layers."""

from __future__ import annotations

from typing import Any

from mixnet.gluon.hybrid import HybridBlock
from mixnet.gluon.nn.convolution import Size, _sizes


class _Pooling(HybridBlock):
    _axes = 2

    def __init__(self, given: dict[str, Any], **kwargs: Any):
        super().__init__(**kwargs)
        self._kwargs = given

    def _alias(self) -> str:
        return "pool"

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """One number for every window."""
        return F.Pooling(x, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        given = self._kwargs
        return (
            f"{type(self).__name__}(size={given['kernel']}, stride={given['stride']}, "
            f"padding={given['pad']}, ceil_mode={given['pooling_convention'] == 'full'}, "
            f"global_pool={given['global_pool']}, pool_type={given['pool_type']}, "
            f"layout={given['layout']})"
        )


def _windows(
    kind: str, pool_size: Size, strides: Any, padding: Size, ceil_mode: bool, layout: str
) -> dict[str, Any]:
    count = len(layout) - 2
    size = _sizes(pool_size, count)
    return {
        "kernel": size,
        "stride": size if strides is None else _sizes(strides, count),
        "pad": _sizes(padding, count),
        "global_pool": False,
        "pool_type": kind,
        "layout": layout,
        "pooling_convention": "full" if ceil_mode else "valid",
    }


class MaxPool2D(_Pooling):
    """The largest element of every window.

    Args:
        pool_size: extents of the window.
        strides: steps, by default those extents.
        padding: elements around the data, which never win.
        layout: ``NCHW`` or ``NHWC``.
        ceil_mode: a last partial window counts.
    """

    def __init__(
        self,
        pool_size: Size = (2, 2),
        strides: Any = None,
        padding: Size = 0,
        layout: str = "NCHW",
        ceil_mode: bool = False,
        **kwargs: Any,
    ):
        super().__init__(_windows("max", pool_size, strides, padding, ceil_mode, layout), **kwargs)


class AvgPool2D(_Pooling):
    """The mean of every window.

    Args:
        pool_size: extents of the window.
        strides: steps, by default those extents.
        padding: zeros around the data.
        ceil_mode: a last partial window counts.
        layout: ``NCHW`` or ``NHWC``.
        count_include_pad: whether the zeros around count.
    """

    def __init__(
        self,
        pool_size: Size = (2, 2),
        strides: Any = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        layout: str = "NCHW",
        count_include_pad: bool = True,
        **kwargs: Any,
    ):
        given = _windows("avg", pool_size, strides, padding, ceil_mode, layout)
        super().__init__({**given, "count_include_pad": count_include_pad}, **kwargs)


def _everything(kind: str, layout: str) -> dict[str, Any]:
    given = _windows(kind, 1, None, 0, True, layout)
    return {**given, "global_pool": True}


class GlobalAvgPool2D(_Pooling):
    """The mean of every channel."""

    def __init__(self, layout: str = "NCHW", **kwargs: Any):
        super().__init__(_everything("avg", layout), **kwargs)


class GlobalMaxPool2D(_Pooling):
    """The largest element of every channel."""

    def __init__(self, layout: str = "NCHW", **kwargs: Any):
        super().__init__(_everything("max", layout), **kwargs)
