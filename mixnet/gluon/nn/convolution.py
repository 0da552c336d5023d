"""Convolutional layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from mixnet.base import CheckError
from mixnet.gluon.block import HybridBlock, ParameterDict
from mixnet.gluon.nn.activation import Activation
from mixnet.ops.arguments import check_arguments
from mixnet.ops.attributes import Count, Extents, Positive, Steps
from mixnet.ops.convolution import check_groups

Size = int | tuple[int, ...] | list[int]


def sizes(given: Size, count: int, name: str = "kernel_size") -> tuple[int, ...]:
    """One number for each of ``count`` axes.

    Raises:
        CheckError: neither one number nor ``count``; it is an AssertionError too.
    """
    found = (given,) * count if isinstance(given, (int, np.integer)) else tuple(given)
    if len(found) != count:
        raise CheckError(f"{name} is one number or {count}, not {given}.")
    return found


def check_layout(owner: str, layout: str, allowed: tuple[str, ...]) -> None:
    """Raise CheckError unless a layout is one of those allowed."""
    if layout not in allowed:
        raise CheckError(f"{owner}: layout={layout!r} is none of {', '.join(allowed)}.")


def weight_shape(
    op_name: str, channels: int, in_channels: int, kernel: Any, groups: int, layout: str
) -> tuple[int, ...]:
    """Shape of a convolution's weight; 0 where ``in_channels`` is 0."""
    check_groups(op_name, in_channels, channels, groups)
    if op_name == "Deconvolution":
        first, second = in_channels, channels // groups
    else:
        first, second = channels, in_channels // groups
    return (first, *kernel, second) if layout.endswith("C") else (first, second, *kernel)


def convolution_repr(block: Any, weight: Any, given: dict[str, Any], bias: Any) -> str:
    """How a convolutional layer prints."""
    shape, count = weight.shape, len(given["kernel"])
    inputs = shape[1] if shape[1] and shape[1] > 0 else None
    parts = [f"{inputs} -> {max(shape[0], 0)}"]
    parts += [f"kernel_size={given['kernel']}", f"stride={given['stride']}"]
    for key, label, usual in (("pad", "padding", 0), ("dilate", "dilation", 1)):
        if given[key] != (usual,) * count:
            parts.append(f"{label}={given[key]}")
    if given["num_group"] != 1:
        parts.append(f"groups={given['num_group']}")
    if bias is None:
        parts.append("bias=False")
    if block.act:
        parts.append(repr(block.act))
    return f"{type(block).__name__}({', '.join(parts)})"


class _Conv(HybridBlock):
    """A convolution, or with ``op_name='Deconvolution'`` its transpose."""

    @check_arguments
    def __init__(
        self,
        channels: Positive,
        kernel_size: Steps,
        strides: Steps,
        padding: Extents,
        dilation: Steps,
        groups: Positive,
        layout: str,
        in_channels: Count = 0,
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        op_name: str = "Convolution",
        adj: Any = None,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ):
        super().__init__(prefix=prefix, params=params)
        count = len(kernel_size)
        self._channels, self._in_channels = channels, in_channels
        self._op_name = op_name
        self._kwargs = {
            "kernel": tuple(kernel_size),
            "stride": sizes(strides, count, "strides"),
            "dilate": sizes(dilation, count, "dilation"),
            "pad": sizes(padding, count, "padding"),
            "num_filter": channels,
            "num_group": groups,
            "no_bias": not use_bias,
            "layout": layout,
        }
        if adj is not None:
            self._kwargs["adj"] = adj
        shape = weight_shape(op_name, channels, in_channels, kernel_size, groups, layout)
        with self.name_scope():
            self.weight = self.params.get(
                "weight", shape=shape, init=weight_initializer, allow_deferred_init=True
            )
            self.bias = None
            if use_bias:
                self.bias = self.params.get(
                    "bias", shape=(channels,), init=bias_initializer, allow_deferred_init=True
                )
            self.act = None
            if activation is not None:
                self.act = Activation(activation, prefix=activation + "_")

    def _alias(self) -> str:
        return "conv"

    def hybrid_forward(self, F: Any, x: Any, weight: Any, bias: Any = None) -> Any:
        """The convolution, then the activation."""
        given = (x, weight) if bias is None else (x, weight, bias)
        out = getattr(F, self._op_name)(*given, name="fwd", **self._kwargs)
        return out if self.act is None else self.act(out)

    def __repr__(self) -> str:
        return convolution_repr(self, self.weight, self._kwargs, self.bias)


def _convolve(block: Any, axes: int, layouts: tuple[str, ...], given: dict[str, Any]) -> None:
    """The initializer of a public layer, from its arguments by name."""
    del given["self"]
    kwargs = given.pop("kwargs")
    check_layout(type(block).__name__, given["layout"], layouts)
    given["kernel_size"] = sizes(given["kernel_size"], axes)
    if "output_padding" in given:
        outpad = sizes(given.pop("output_padding"), axes, "output_padding")
        kwargs |= {"op_name": "Deconvolution", "adj": outpad}
    _Conv.__init__(block, **given, **kwargs)
    if "adj" in kwargs:
        block.outpad = kwargs["adj"]


class Conv1D(_Conv):
    """Convolution of ``(batch, channels, width)``.

    Args:
        channels: filters.
        kernel_size: extent of the kernels.
        strides: steps of the window.
        padding: zeros around the data.
        dilation: distance of the kernel's elements.
        groups: groups of channels that do not mix.
        layout: ``NCW``.
        activation: name of an activation, None for none.
        use_bias: whether there is a bias.
        weight_initializer: initializer of the weight.
        bias_initializer: initializer of the bias.
        in_channels: channels of the data; 0 follows from the first data.
        kwargs: ``prefix``, ``params``.
    """

    def __init__(
        self,
        channels: int,
        kernel_size: Size,
        strides: Size = 1,
        padding: Size = 0,
        dilation: Size = 1,
        groups: int = 1,
        layout: str = "NCW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        **kwargs: Any,
    ):
        _convolve(self, 1, ("NCW",), locals())


class Conv2D(_Conv):
    """Convolution of ``(batch, channels, height, width)``.

    Args:
        channels: filters.
        kernel_size: extents of the kernels.
        strides: steps of the window.
        padding: zeros around the data.
        dilation: distance of the kernel's elements.
        groups: groups of channels that do not mix.
        layout: ``NCHW`` or ``NHWC``.
        activation: name of an activation, None for none.
        use_bias: whether there is a bias.
        weight_initializer: initializer of the weight.
        bias_initializer: initializer of the bias.
        in_channels: channels of the data; 0 follows from the first data.
        kwargs: ``prefix``, ``params``.
    """

    def __init__(
        self,
        channels: int,
        kernel_size: Size,
        strides: Size = (1, 1),
        padding: Size = (0, 0),
        dilation: Size = (1, 1),
        groups: int = 1,
        layout: str = "NCHW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        **kwargs: Any,
    ):
        _convolve(self, 2, ("NCHW", "NHWC"), locals())


class Conv3D(_Conv):
    """Convolution of ``(batch, channels, depth, height, width)``; arguments as ``Conv2D``.

    The layout is ``NCDHW`` or ``NDHWC``.
    """

    def __init__(
        self,
        channels: int,
        kernel_size: Size,
        strides: Size = (1, 1, 1),
        padding: Size = (0, 0, 0),
        dilation: Size = (1, 1, 1),
        groups: int = 1,
        layout: str = "NCDHW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        **kwargs: Any,
    ):
        _convolve(self, 3, ("NCDHW", "NDHWC"), locals())


class Conv1DTranspose(_Conv):
    """Transposed convolution of ``(batch, channels, width)``.

    Arguments as ``Conv1D``, and ``output_padding``: elements that one side of the output has more.
    """

    def __init__(
        self,
        channels: int,
        kernel_size: Size,
        strides: Size = 1,
        padding: Size = 0,
        output_padding: Size = 0,
        dilation: Size = 1,
        groups: int = 1,
        layout: str = "NCW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        **kwargs: Any,
    ):
        _convolve(self, 1, ("NCW",), locals())


class Conv2DTranspose(_Conv):
    """Transposed convolution of ``(batch, channels, height, width)``.

    Arguments as ``Conv2D``, and ``output_padding``: rows and columns that the output has more.
    """

    def __init__(
        self,
        channels: int,
        kernel_size: Size,
        strides: Size = (1, 1),
        padding: Size = (0, 0),
        output_padding: Size = (0, 0),
        dilation: Size = (1, 1),
        groups: int = 1,
        layout: str = "NCHW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        **kwargs: Any,
    ):
        _convolve(self, 2, ("NCHW", "NHWC"), locals())


class Conv3DTranspose(_Conv):
    """Transposed convolution of ``(batch, channels, depth, height, width)``.

    Arguments as ``Conv3D``, and ``output_padding``: what the output has more on each axis.
    """

    def __init__(
        self,
        channels: int,
        kernel_size: Size,
        strides: Size = (1, 1, 1),
        padding: Size = (0, 0, 0),
        output_padding: Size = (0, 0, 0),
        dilation: Size = (1, 1, 1),
        groups: int = 1,
        layout: str = "NCDHW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        **kwargs: Any,
    ):
        _convolve(self, 3, ("NCDHW", "NDHWC"), locals())
