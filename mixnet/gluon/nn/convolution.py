"""Convolutional layers."""

from __future__ import annotations

from typing import Any

from mixnet.gluon.hybrid import HybridBlock
from mixnet.gluon.nn.activation import Activation
from mixnet.gluon.nn.dense import initializer

Size = int | tuple[int, ...] | list[int]


def _sizes(given: Size, count: int) -> tuple[int, ...]:
    return (given,) * count if isinstance(given, int) else tuple(given)


class _Convolution(HybridBlock):
    """A convolution over ``axes`` spatial axes."""

    _axes = 2
    _layouts: tuple[str, ...] = ("NCHW", "NHWC")

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
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        count = self._axes
        self._channels, self._in_channels = channels, in_channels
        layout = layout or self._layouts[0]
        if layout not in self._layouts:
            raise ValueError(
                f"{type(self).__name__}: layout={layout!r} is none of {self._layouts}."
            )
        kernel = _sizes(kernel_size, count)
        self._kwargs = {
            "kernel": kernel,
            "stride": _sizes(strides, count),
            "dilate": _sizes(dilation, count),
            "pad": _sizes(padding, count),
            "num_filter": channels,
            "num_group": groups,
            "no_bias": not use_bias,
            "layout": layout,
        }
        inputs = in_channels // groups
        last = layout.endswith("C")
        shape = (channels, *kernel, inputs) if last else (channels, inputs, *kernel)
        with self.name_scope():
            self.weight = self.params.get(
                "weight",
                shape=shape,
                init=initializer(weight_initializer),
                allow_deferred_init=True,
            )
            self.bias = None
            if use_bias:
                self.bias = self.params.get(
                    "bias",
                    shape=(channels,),
                    init=initializer(bias_initializer),
                    allow_deferred_init=True,
                )
            self.act = None
            if activation is not None:
                self.act = Activation(activation, prefix=activation + "_")

    def _alias(self) -> str:
        return "conv"

    def hybrid_forward(self, F: Any, x: Any, weight: Any = None, bias: Any = None) -> Any:
        """The convolution, then the activation."""
        out = F.Convolution(x, weight, bias, name="fwd", **self._kwargs)
        return out if self.act is None else self.act(out)

    def __repr__(self) -> str:
        shape, given = self.weight.shape, self._kwargs
        inputs = shape[-1] if str(given["layout"]).endswith("C") else shape[1]
        parts = [f"kernel_size={given['kernel']}", f"stride={given['stride']}"]
        for name, label in (("pad", "padding"), ("dilate", "dilation")):
            if given[name] != ((0,) if name == "pad" else (1,)) * self._axes:
                parts.append(f"{label}={given[name]}")
        if given["num_group"] != 1:
            parts.append(f"groups={given['num_group']}")
        if self.bias is None:
            parts.append("bias=False")
        if self.act is not None:
            parts.append(repr(self.act))
        mapping = f"{inputs if inputs else None} -> {shape[0]}"
        return f"{type(self).__name__}({mapping}, {', '.join(parts)})"


class Conv1D(_Convolution):
    """Convolution of ``(batch, channels, width)``; arguments as ``Conv2D``."""

    _axes = 1
    _layouts = ("NCW",)


class Conv2D(_Convolution):
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
    """


class Conv3D(_Convolution):
    """Convolution of ``(batch, channels, depth, height, width)``; arguments as ``Conv2D``."""

    _axes = 3
    _layouts = ("NCDHW", "NDHWC")
