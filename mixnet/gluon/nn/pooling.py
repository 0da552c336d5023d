"""Pooling layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from mixnet.gluon.block import HybridBlock
from mixnet.gluon.nn.convolution import Size, check_layout, sizes
from mixnet.ops.schema.arguments import check_arguments
from mixnet.ops.schema.attributes import Extents, Steps
from mixnet.util import with_defaults

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.gluon.block.tensor import Tensor

_LAYOUTS = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


class _Pooling(HybridBlock):
    """One number for every window."""

    _mx_layouts: ClassVar[tuple[str, ...]] = sum(_LAYOUTS.values(), ())

    @check_arguments
    def __init__(
        self,
        pool_size: Steps,
        strides: Steps | None,
        padding: Extents,
        ceil_mode: bool,
        global_pool: bool,
        pool_type: str,
        layout: str,
        count_include_pad: bool | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        check_layout(type(self).__name__, layout, self._mx_layouts)
        count = len(layout) - 2
        kernel = sizes(pool_size, count, "pool_size")
        self._kwargs = {
            "kernel": kernel,
            "stride": kernel if strides is None else sizes(strides, count, "strides"),
            "pad": sizes(padding, count, "padding"),
            "global_pool": global_pool,
            "pool_type": pool_type,
            "layout": layout,
            "pooling_convention": "full" if ceil_mode else "valid",
        }
        if count_include_pad is not None:
            self._kwargs["count_include_pad"] = count_include_pad

    def _alias(self) -> str:
        return "pool"

    def hybrid_forward(self, F: ModuleType, x: Tensor) -> Any:
        """The result of each window."""
        return F.Pooling(x, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        settings = self._kwargs
        return (
            f"{type(self).__name__}(size={settings['kernel']}, stride={settings['stride']}, "
            f"padding={settings['pad']}, ceil_mode={settings['pooling_convention'] == 'full'}, "
            f"global_pool={settings['global_pool']}, pool_type={settings['pool_type']}, "
            f"layout={settings['layout']})"
        )


class MaxPool1D(_Pooling):
    """The largest element of every window of ``(batch, channels, width)``.

    Args:
        pool_size: extent of the window.
        strides: steps, by default that extent.
        padding: elements around the data, which are never the maximum.
        layout: ``NCW`` or ``NWC``.
        ceil_mode: include a last partial window.
        kwargs: ``prefix``, ``params``.
    """

    _mx_layouts = _LAYOUTS[1]

    def __init__(
        self,
        pool_size: Size = 2,
        strides: int | Sequence[int] | None = None,
        padding: Size = 0,
        layout: str = "NCW",
        ceil_mode: bool = False,
        **kwargs: Any,
    ):
        super().__init__(pool_size, strides, padding, ceil_mode, False, "max", layout, **kwargs)


class MaxPool2D(_Pooling):
    """The largest element of every window of images.

    Args:
        pool_size: extents of the window.
        strides: steps, by default those extents.
        padding: elements around the data, which are never the maximum.
        layout: ``NCHW`` or ``NHWC``.
        ceil_mode: include a last partial window.
        kwargs: ``prefix``, ``params``.
    """

    _mx_layouts = _LAYOUTS[2]

    def __init__(
        self,
        pool_size: Size = (2, 2),
        strides: int | Sequence[int] | None = None,
        padding: Size = 0,
        layout: str = "NCHW",
        ceil_mode: bool = False,
        **kwargs: Any,
    ):
        super().__init__(pool_size, strides, padding, ceil_mode, False, "max", layout, **kwargs)


class MaxPool3D(_Pooling):
    """The largest element of every window of ``(batch, channels, depth, height, width)``.

    Args:
        pool_size: extents of the window.
        strides: steps, by default those extents.
        padding: elements around the data, which are never the maximum.
        ceil_mode: include a last partial window.
        layout: ``NCDHW`` or ``NDHWC``.
        kwargs: ``prefix``, ``params``.
    """

    _mx_layouts = _LAYOUTS[3]

    def __init__(
        self,
        pool_size: Size = (2, 2, 2),
        strides: int | Sequence[int] | None = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        layout: str = "NCDHW",
        **kwargs: Any,
    ):
        super().__init__(pool_size, strides, padding, ceil_mode, False, "max", layout, **kwargs)


class AvgPool1D(_Pooling):
    """The mean of every window of ``(batch, channels, width)``.

    Args:
        pool_size: extent of the window.
        strides: steps, by default that extent.
        padding: zeros around the data.
        layout: ``NCW`` or ``NWC``.
        ceil_mode: include a last partial window.
        count_include_pad: whether padding counts in the mean.
        kwargs: ``prefix``, ``params``.
    """

    _mx_layouts = _LAYOUTS[1]

    def __init__(
        self,
        pool_size: Size = 2,
        strides: int | Sequence[int] | None = None,
        padding: Size = 0,
        layout: str = "NCW",
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        **kwargs: Any,
    ):
        super().__init__(
            pool_size,
            strides,
            padding,
            ceil_mode,
            False,
            "avg",
            layout,
            count_include_pad,
            **kwargs,
        )


class AvgPool2D(_Pooling):
    """The mean of every window of images.

    Args:
        pool_size: extents of the window.
        strides: steps, by default those extents.
        padding: zeros around the data.
        ceil_mode: include a last partial window.
        layout: ``NCHW`` or ``NHWC``.
        count_include_pad: whether padding counts in the mean.
        kwargs: ``prefix``, ``params``.
    """

    _mx_layouts = _LAYOUTS[2]

    def __init__(
        self,
        pool_size: Size = (2, 2),
        strides: int | Sequence[int] | None = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        layout: str = "NCHW",
        count_include_pad: bool = True,
        **kwargs: Any,
    ):
        super().__init__(
            pool_size,
            strides,
            padding,
            ceil_mode,
            False,
            "avg",
            layout,
            count_include_pad,
            **kwargs,
        )


class AvgPool3D(_Pooling):
    """The mean of every window of ``(batch, channels, depth, height, width)``.

    Args:
        pool_size: extents of the window.
        strides: steps, by default those extents.
        padding: zeros around the data.
        ceil_mode: include a last partial window.
        layout: ``NCDHW`` or ``NDHWC``.
        count_include_pad: whether padding counts in the mean.
        kwargs: ``prefix``, ``params``.
    """

    _mx_layouts = _LAYOUTS[3]

    def __init__(
        self,
        pool_size: Size = (2, 2, 2),
        strides: int | Sequence[int] | None = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        layout: str = "NCDHW",
        count_include_pad: bool = True,
        **kwargs: Any,
    ):
        super().__init__(
            pool_size,
            strides,
            padding,
            ceil_mode,
            False,
            "avg",
            layout,
            count_include_pad,
            **kwargs,
        )


class _GlobalPooling(_Pooling):
    """One number for every channel.

    Args:
        layout: one that the class names.
        kwargs: ``prefix`` and ``params`` of :class:`Block`.
    """

    _mx_pool_type: ClassVar[str]

    def __init__(self, layout: str, **kwargs: Any):
        super().__init__(1, None, 0, True, True, self._mx_pool_type, layout, **kwargs)


class GlobalMaxPool1D(_GlobalPooling):
    """The largest element of every channel.

    Args:
        layout: ``NCW`` or ``NWC``.
        kwargs: ``prefix`` and ``params`` of :class:`Block`.
    """

    _mx_layouts = _LAYOUTS[1]
    _mx_pool_type = "max"
    __init__ = with_defaults(_GlobalPooling.__init__, layout="NCW")


class GlobalMaxPool2D(_GlobalPooling):
    """The largest element of every channel.

    Args:
        layout: ``NCHW`` or ``NHWC``.
        kwargs: ``prefix`` and ``params`` of :class:`Block`.
    """

    _mx_layouts = _LAYOUTS[2]
    _mx_pool_type = "max"
    __init__ = with_defaults(_GlobalPooling.__init__, layout="NCHW")


class GlobalMaxPool3D(_GlobalPooling):
    """The largest element of every channel.

    Args:
        layout: ``NCDHW`` or ``NDHWC``.
        kwargs: ``prefix`` and ``params`` of :class:`Block`.
    """

    _mx_layouts = _LAYOUTS[3]
    _mx_pool_type = "max"
    __init__ = with_defaults(_GlobalPooling.__init__, layout="NCDHW")


class GlobalAvgPool1D(_GlobalPooling):
    """The mean of every channel.

    Args:
        layout: ``NCW`` or ``NWC``.
        kwargs: ``prefix`` and ``params`` of :class:`Block`.
    """

    _mx_layouts = _LAYOUTS[1]
    _mx_pool_type = "avg"
    __init__ = with_defaults(_GlobalPooling.__init__, layout="NCW")


class GlobalAvgPool2D(_GlobalPooling):
    """The mean of every channel.

    Args:
        layout: ``NCHW`` or ``NHWC``.
        kwargs: ``prefix`` and ``params`` of :class:`Block`.
    """

    _mx_layouts = _LAYOUTS[2]
    _mx_pool_type = "avg"
    __init__ = with_defaults(_GlobalPooling.__init__, layout="NCHW")


class GlobalAvgPool3D(_GlobalPooling):
    """The mean of every channel.

    Args:
        layout: ``NCDHW`` or ``NDHWC``.
        kwargs: ``prefix`` and ``params`` of :class:`Block`.
    """

    _mx_layouts = _LAYOUTS[3]
    _mx_pool_type = "avg"
    __init__ = with_defaults(_GlobalPooling.__init__, layout="NCDHW")
