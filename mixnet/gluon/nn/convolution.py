"""Convolutional layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mixnet.base import CheckError
from mixnet.gluon.block import HybridBlock, ParameterDict
from mixnet.gluon.nn.activation import Activation
from mixnet.ops.nn.convolution import check_groups
from mixnet.ops.schema.arguments import check_arguments
from mixnet.ops.schema.attributes import Count, Extents, Positive, Steps

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.gluon.block.tensor import Tensor
    from mixnet.initializer.initializer import Initializer

Size = int | tuple[int, ...] | list[int]


def sizes(size: Size, count: int, name: str = "kernel_size") -> tuple[int, ...] | list[int]:
    """One number for each of ``count`` axes; a list stays one, and is shown as one.

    Raises:
        CheckError: neither one number nor ``count``; also an AssertionError.
    """
    if isinstance(size, (int, float, np.number)):  # whether it is whole is checked later
        values: tuple[Any, ...] | list[Any] = (size,) * count
    else:
        values = list(size) if isinstance(size, list) else tuple(size)
    if len(values) != count:
        raise CheckError(f"{name} must be one number or {count}, not {size}.")
    return values


def check_layout(owner: str, layout: object, allowed: tuple[str, ...]) -> None:
    """Raise CheckError unless a layout is one of those allowed."""
    if layout not in allowed:
        raise CheckError(f"{owner}: layout={layout!r} is not one of {', '.join(allowed)}.")


def weight_shape(
    op_name: str,
    channels: int,
    in_channels: int,
    kernel: Any,
    groups: int,
    layout: str,
) -> tuple[int, ...]:
    """Shape of a convolution's weight; 0 where ``in_channels`` is 0."""
    check_groups(op_name, in_channels, channels, groups)
    if op_name == "Deconvolution":
        first, second = in_channels, channels // groups
    else:
        first, second = channels, in_channels // groups
    return (first, *kernel, second) if layout.endswith("C") else (first, second, *kernel)


def convolution_repr(block: Any, weight: Any, settings: dict[str, Any], bias: Any) -> str:
    """The repr of a convolutional layer."""
    shape, count = weight.shape, len(settings["kernel"])
    parts = [f"{shape[1] or None} -> {shape[0]}"]  # unknown: 0, or -1 with NumPy's shapes
    parts += [f"kernel_size={settings['kernel']}", f"stride={settings['stride']}"]
    for key, label, usual in (("pad", "padding", 0), ("dilate", "dilation", 1)):
        if settings[key] != (usual,) * count:
            parts.append(f"{label}={settings[key]}")
    if settings["num_group"] != 1:
        parts.append(f"groups={settings['num_group']}")
    if bias is None:
        parts.append("bias=False")
    if block.act:
        parts.append(repr(block.act))
    return f"{type(block).__name__}({', '.join(parts)})"


class _Conv(HybridBlock):
    """A convolution, or with ``op_name='Deconvolution'`` its transpose."""

    _mx_layouts: ClassVar[tuple[str, ...]]  # the usual one first

    def _mx_layout_and_axes(self, layout: str | None) -> tuple[str, int]:
        """The layout, which must be one of the class's, and the number of its spatial axes."""
        layout = self._mx_layouts[0] if layout is None else layout
        check_layout(type(self).__name__, layout, self._mx_layouts)
        return layout, len(layout) - 2

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
            "kernel": kernel_size,
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

    def hybrid_forward(
        self, F: ModuleType, x: Tensor, weight: Tensor, bias: Tensor | None = None
    ) -> Any:
        """The convolution, then the activation."""
        arrays = (x, weight) if bias is None else (x, weight, bias)
        out = getattr(F, self._op_name)(*arrays, name="fwd", **self._kwargs)
        return out if self.act is None else self.act(out)

    def __repr__(self) -> str:
        return convolution_repr(self, self.weight, self._kwargs, self.bias)


class _Convolution(_Conv):
    """The base of convolutions with any number of axes.

    Args:
        channels: filters.
        kernel_size: extents of the kernels: one number, or one for each axis, as all sizes.
        strides: steps of the window.
        padding: zeros around the data.
        dilation: spacing of the kernel's elements.
        groups: groups of channels that do not mix.
        layout: one that the class names; channels first by default.
        activation: name of an activation, None for none.
        use_bias: whether there is a bias.
        weight_initializer: initializer of the weight.
        bias_initializer: initializer of the bias.
        in_channels: channels of the data; 0: inferred from the first data.
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
        layout: str | None = None,
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Initializer | str | None = None,
        bias_initializer: Initializer | str | None = "zeros",
        in_channels: int = 0,
        **kwargs: Any,
    ):
        layout, axes = self._mx_layout_and_axes(layout)
        super().__init__(
            channels=channels,
            kernel_size=sizes(kernel_size, axes),
            strides=strides,
            padding=padding,
            dilation=dilation,
            groups=groups,
            layout=layout,
            in_channels=in_channels,
            activation=activation,
            use_bias=use_bias,
            weight_initializer=weight_initializer,
            bias_initializer=bias_initializer,
            **kwargs,
        )


class _Transposed(_Conv):
    """The base of transposed convolutions with any number of axes.

    Args:
        channels: filters.
        kernel_size: extents of the kernels: one number, or one for each axis, as all sizes.
        strides: steps of the window.
        padding: zeros around the data.
        output_padding: additional elements on one side of the output, for each axis.
        dilation: spacing of the kernel's elements.
        groups: groups of channels that do not mix.
        layout: one that the class names; channels first by default.
        activation: name of an activation, None for none.
        use_bias: whether there is a bias.
        weight_initializer: initializer of the weight.
        bias_initializer: initializer of the bias.
        in_channels: channels of the data; 0: inferred from the first data.
        kwargs: ``prefix``, ``params``.
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
        layout: str | None = None,
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Initializer | str | None = None,
        bias_initializer: Initializer | str | None = "zeros",
        in_channels: int = 0,
        **kwargs: Any,
    ):
        layout, axes = self._mx_layout_and_axes(layout)
        self.outpad = sizes(output_padding, axes, "output_padding")
        super().__init__(
            channels=channels,
            kernel_size=sizes(kernel_size, axes),
            strides=strides,
            padding=padding,
            dilation=dilation,
            groups=groups,
            layout=layout,
            in_channels=in_channels,
            activation=activation,
            use_bias=use_bias,
            weight_initializer=weight_initializer,
            bias_initializer=bias_initializer,
            op_name="Deconvolution",
            adj=self.outpad,
            **kwargs,
        )


def _described(base: type, first: str) -> str:
    """The docstring of a layer: its own first line and the arguments that all have in common."""
    return first + (base.__doc__ or "")[(base.__doc__ or "").index("\n") :]


class Conv1D(_Convolution):
    __doc__ = _described(
        _Convolution, "Convolution of ``(batch, channels, width)``; its layout is ``NCW``."
    )
    _mx_layouts = ("NCW",)


class Conv2D(_Convolution):
    __doc__ = _described(
        _Convolution,
        "Convolution of ``(batch, channels, height, width)``; its layout is ``NCHW`` or ``NHWC``.",
    )
    _mx_layouts = ("NCHW", "NHWC")


class Conv3D(_Convolution):
    __doc__ = _described(
        _Convolution,
        "Convolution of ``(batch, channels, depth, height, width)``; its layout is ``NCDHW`` or ``NDHWC``.",
    )
    _mx_layouts = ("NCDHW", "NDHWC")


class Conv1DTranspose(_Transposed):
    __doc__ = _described(
        _Transposed,
        "Transposed convolution of ``(batch, channels, width)``; its layout is ``NCW``.",
    )
    _mx_layouts = ("NCW",)


class Conv2DTranspose(_Transposed):
    __doc__ = _described(
        _Transposed,
        "Transposed convolution of ``(batch, channels, height, width)``; its layout is ``NCHW`` or ``NHWC``.",
    )
    _mx_layouts = ("NCHW", "NHWC")


class Conv3DTranspose(_Transposed):
    __doc__ = _described(
        _Transposed,
        "Transposed convolution of ``(batch, channels, depth, height, width)``; its layout is "
        "``NCDHW`` or ``NDHWC``.",
    )
    _mx_layouts = ("NCDHW", "NDHWC")
