"""Deformable convolutions: a small convolution computes the offset of each kernel element."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mixnet.gluon.block import HybridBlock, ParameterDict
from mixnet.gluon.nn.activation import Activation
from mixnet.gluon.nn.convolution import Size, convolution_repr, sizes, weight_shape

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.gluon.block.tensor import Tensor
    from mixnet.initializer.initializer import Initializer

    _Initial = Initializer | str | None


class _Deformable(HybridBlock):
    """The base of both: the two convolutions' parameters and attributes."""

    _per_element: int  # outputs of the first convolution for each kernel element
    _offset_first = True
    _operator = "DeformableConvolution"

    def __init__(
        self,
        channels: int,
        kernel_size: Size = (1, 1),
        strides: Size = (1, 1),
        padding: Size = (0, 0),
        dilation: Size = (1, 1),
        groups: int = 1,
        num_deformable_group: int = 1,
        layout: str = "NCHW",
        use_bias: bool = True,
        in_channels: int = 0,
        activation: str | None = None,
        weight_initializer: Initializer | str | None = None,
        bias_initializer: Initializer | str | None = "zeros",
        offset_weight_initializer: Initializer | str | None = "zeros",
        offset_bias_initializer: Initializer | str | None = "zeros",
        offset_use_bias: bool = True,
        op_name: str | None = None,
        adj: int | Sequence[int] | None = None,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ):
        super().__init__(prefix=prefix, params=params)
        self._channels, self._in_channels = channels, in_channels
        self._op_name = op_name or self._operator
        kernel = sizes(kernel_size, 2)
        elements = math.prod(kernel) * num_deformable_group
        self.offset_split_index = 2 * elements
        common: dict[str, Any] = {
            "kernel": kernel,
            "stride": sizes(strides, 2, "strides"),
            "dilate": sizes(dilation, 2, "dilation"),
            "pad": sizes(padding, 2, "padding"),
            "num_group": groups,
            "layout": layout,
        }
        self._kwargs_offset = {
            **common,
            "num_filter": self._per_element * elements,
            "no_bias": not offset_use_bias,
        }
        self._kwargs_deformable_conv = {
            **common,
            "num_filter": channels,
            "num_deformable_group": num_deformable_group,
            "no_bias": not use_bias,
        }
        if adj is not None:
            self._kwargs_offset["adj"] = self._kwargs_deformable_conv["adj"] = adj
        initializers = {
            "offset": (offset_weight_initializer, offset_bias_initializer),
            "deformable_conv": (weight_initializer, bias_initializer),
        }
        settings = {"offset": self._kwargs_offset, "deformable_conv": self._kwargs_deformable_conv}
        order = list(initializers) if self._offset_first else list(initializers)[::-1]
        with self.name_scope():
            for part in order:
                self._own_convolution(part, settings[part], *initializers[part])
            self.act = Activation(activation, prefix=activation + "_") if activation else None

    def _own_convolution(
        self, part: str, settings: dict[str, Any], weight: _Initial, bias: _Initial
    ) -> None:
        """The parameters of one of the two convolutions."""
        filters = settings["num_filter"]
        shape = weight_shape(
            "Convolution",
            filters,
            self._in_channels,
            settings["kernel"],
            settings["num_group"],
            settings["layout"],
        )
        self._add_parameter(f"{part}_weight", shape, weight, True)
        self._add_parameter(f"{part}_bias", (filters,), bias, not settings["no_bias"])

    def _add_parameter(
        self, name: str, shape: tuple[int, ...], init: _Initial, needed: bool
    ) -> None:
        parameter = None
        if needed:
            parameter = self.params.get(name, shape=shape, init=init, allow_deferred_init=True)
        setattr(self, name, parameter)

    def _offsets(self, F: ModuleType, x: Tensor, weight: Tensor, bias: Tensor | None) -> Any:
        arrays = (x, weight) if bias is None else (x, weight, bias)
        return F.Convolution(*arrays, cudnn_off=True, **self._kwargs_offset)

    def _deformed(self, F: ModuleType, inputs: tuple[Any, ...], bias: Tensor | None) -> Any:
        arrays = inputs if bias is None else (*inputs, bias)
        operator = getattr(F.contrib, self._op_name)
        out = operator(*arrays, name="fwd", **self._kwargs_deformable_conv)
        return out if self.act is None else self.act(out)


class DeformableConvolution(_Deformable):
    """A convolution whose kernel elements are moved by learned offsets. Source: Dai et al., 2017.

    Args:
        channels: filters.
        kernel_size: extents of the kernels.
        strides: steps of the window.
        padding: zeros around the data.
        dilation: distance of the kernel's elements.
        groups: groups of channels that do not mix.
        num_deformable_group: groups of channels with offsets of their own.
        layout: ``NCHW``.
        use_bias: whether there is a bias.
        in_channels: channels of the data; 0: inferred from the first data.
        activation: name of an activation, None for none.
        weight_initializer: initializer of the weight.
        bias_initializer: initializer of the bias.
        offset_weight_initializer: initializer of the weight that computes the offsets.
        offset_bias_initializer: initializer of its bias.
        offset_use_bias: whether it has a bias.
        op_name: the operator; None for that of the class.
        adj: for a transposed operator.
        prefix: prefix of its parameters' names.
        params: parameters to share.
    """

    _per_element = 2

    def _alias(self) -> str:
        return "deformable_conv"

    def hybrid_forward(
        self,
        F: ModuleType,
        x: Tensor,
        offset_weight: Tensor,
        deformable_conv_weight: Tensor,
        offset_bias: Tensor | None = None,
        deformable_conv_bias: Tensor | None = None,
    ) -> Any:
        """The convolution, then the activation."""
        offset = self._offsets(F, x, offset_weight, offset_bias)
        return self._deformed(F, (x, offset, deformable_conv_weight), deformable_conv_bias)

    def __repr__(self) -> str:
        return convolution_repr(
            self,
            self.deformable_conv_weight,  # type: ignore[attr-defined]
            self._kwargs_deformable_conv,
            self.deformable_conv_bias,  # type: ignore[attr-defined]
        )


class ModulatedDeformableConvolution(_Deformable):
    """A deformable convolution that also weighs each element. Source: Zhu et al., 2018.

    The arguments are those of ``DeformableConvolution``.
    """

    _per_element = 3
    _offset_first = False
    _operator = "ModulatedDeformableConvolution"

    def _alias(self) -> str:
        return "modulated_deformable_conv"

    def hybrid_forward(
        self,
        F: ModuleType,
        x: Tensor,
        offset_weight: Tensor,
        deformable_conv_weight: Tensor,
        offset_bias: Tensor | None = None,
        deformable_conv_bias: Tensor | None = None,
    ) -> Any:
        """The convolution, then the activation."""
        offsets = self._offsets(F, x, offset_weight, offset_bias)
        offset = F.slice_axis(offsets, axis=1, begin=0, end=self.offset_split_index)
        mask = F.slice_axis(offsets, axis=1, begin=self.offset_split_index, end=None)
        mask = F.sigmoid(mask) * 2
        return self._deformed(F, (x, offset, mask, deformable_conv_weight), deformable_conv_bias)
