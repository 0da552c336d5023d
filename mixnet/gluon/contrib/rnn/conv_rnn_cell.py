"""Recurrent cells with convolutional state transitions. Source: Shi et al., 2015."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mixnet.base import CheckError, NotDefinedError
from mixnet.gluon.parameter import ParameterDict
from mixnet.gluon.rnn.cell import HybridRecurrentCell
from mixnet.util import with_defaults

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.gluon.block.tensor import Tensor
    from mixnet.initializer.initializer import Initializer

__all__ = [
    "Conv1DGRUCell",
    "Conv1DLSTMCell",
    "Conv1DRNNCell",
    "Conv2DGRUCell",
    "Conv2DLSTMCell",
    "Conv2DRNNCell",
    "Conv3DGRUCell",
    "Conv3DLSTMCell",
    "Conv3DRNNCell",
]


def _extents(value: Any, dims: int, name: str) -> tuple[int, ...]:
    if isinstance(value, int):
        return (value,) * dims
    if len(value) != dims:
        raise CheckError(
            f"{name}={value} of a convolution over {dims} axes: give a number, or {dims} of them."
        )
    return tuple(value)


def _steps(size: int, kernel: int, pad: int, dilate: int) -> int:
    """The number of window positions along an axis."""
    return size + 2 * pad - dilate * (kernel - 1)


class _BaseConvRNNCell(HybridRecurrentCell):
    """Base of the convolutional cells; arguments as for ``Conv2DLSTMCell``."""

    gates = 1
    dims: int  # axes of the convolutions
    i2h_weight: Any
    h2h_weight: Any
    i2h_bias: Any
    h2h_bias: Any

    def __init__(
        self,
        input_shape: Any,
        hidden_channels: int,
        i2h_kernel: Any,
        h2h_kernel: Any,
        i2h_pad: Any,
        i2h_dilate: Any,
        h2h_dilate: Any,
        i2h_weight_initializer: Initializer | str | None = None,
        h2h_weight_initializer: Initializer | str | None = None,
        i2h_bias_initializer: Initializer | str | None = "zeros",
        h2h_bias_initializer: Initializer | str | None = "zeros",
        conv_layout: str = "",
        activation: str | Callable[..., Any] | None = "tanh",
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ):
        super().__init__(prefix=prefix, params=params)
        dims = self.dims
        self._hidden_channels, self._input_shape = hidden_channels, tuple(input_shape)
        self._conv_layout, self._activation = conv_layout, activation
        i2h, h2h = (
            _extents(i2h_kernel, dims, "i2h_kernel"),
            _extents(h2h_kernel, dims, "h2h_kernel"),
        )
        if any(extent % 2 == 0 for extent in h2h):
            raise CheckError(
                f"h2h_kernel={h2h_kernel}: only odd extents keep the shape of the state."
            )
        pad = _extents(i2h_pad, dims, "i2h_pad")
        dilate = _extents(i2h_dilate, dims, "i2h_dilate")
        wide = _extents(h2h_dilate, dims, "h2h_dilate")
        rows = self.gates * hidden_channels
        shared = {"stride": (1,) * dims, "num_filter": rows, "layout": conv_layout}
        self._i2h = {"kernel": i2h, "pad": pad, "dilate": dilate, **shared}
        around = tuple(d * (k - 1) // 2 for d, k in zip(wide, h2h, strict=True))
        self._h2h = {"kernel": h2h, "pad": around, "dilate": wide, **shared}
        place = conv_layout.find("C")
        self._channel_axis = place
        channels = self._input_shape[place - 1]
        sizes = self._input_shape[1:] if place == 1 else self._input_shape[:-1]
        after = tuple(map(_steps, sizes, i2h, pad, dilate))
        self._in_channels = channels

        def arranged(first: Any, count: int, window: tuple[int, ...]) -> tuple[int, ...]:
            return (*first, count, *window) if place == 1 else (*first, *window, count)

        self._state_shape = arranged((), hidden_channels, after)
        parameters = {
            "i2h_weight": (arranged((rows,), channels, i2h), i2h_weight_initializer),
            "h2h_weight": (arranged((rows,), hidden_channels, h2h), h2h_weight_initializer),
            "i2h_bias": ((rows,), i2h_bias_initializer),
            "h2h_bias": ((rows,), h2h_bias_initializer),
        }
        for name, (shape, init) in parameters.items():
            parameter = self.params.get(name, shape=shape, init=init, allow_deferred_init=True)
            setattr(self, name, parameter)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self._in_channels} -> {self.gates * self._hidden_channels}, "
            f"{self._activation}, {self._conv_layout})"
        )

    def state_info(self, batch_size: int = 0) -> Any:
        """Shape and layout of the state."""
        return [{"shape": (batch_size, *self._state_shape), "__layout__": self._conv_layout}]

    def hybrid_forward(self, F: ModuleType, inputs: Tensor, states: Sequence[Tensor]) -> Any:
        """Output and new states; to be overridden."""
        raise NotDefinedError(
            f"{type(self).__name__} does not define hybrid_forward(self, F, inputs, states, ...)."
        )

    def _mx_maps(self, F: Any, inputs: Any, state: Any, parameters: Any) -> tuple[Any, Any]:
        """The convolutions of the inputs and of the state."""
        i2h_weight, h2h_weight, i2h_bias, h2h_bias = parameters
        step = f"t{self._counter}_"
        i2h = F.Convolution(
            data=inputs, weight=i2h_weight, bias=i2h_bias, name=step + "i2h", **self._i2h
        )
        h2h = F.Convolution(
            data=state, weight=h2h_weight, bias=h2h_bias, name=step + "h2h", **self._h2h
        )
        return i2h, h2h


class _ConvRNNCell(_BaseConvRNNCell):
    def _alias(self) -> str:
        return "conv_rnn"

    def hybrid_forward(  # type: ignore[override]
        self,
        F: ModuleType,
        inputs: Tensor,
        states: Sequence[Tensor],
        i2h_weight: Tensor,
        h2h_weight: Tensor,
        i2h_bias: Tensor,
        h2h_bias: Tensor,
    ) -> Any:
        """Output and new state, which are the same."""
        parameters = (i2h_weight, h2h_weight, i2h_bias, h2h_bias)
        i2h, h2h = self._mx_maps(F, inputs, states[0], parameters)
        name = f"t{self._counter}_out"
        output = self._get_activation(F, i2h + h2h, self._activation, name=name)
        return output, [output]


class _ConvLSTMCell(_BaseConvRNNCell):
    gates = 4

    def _alias(self) -> str:
        return "conv_lstm"

    def state_info(self, batch_size: int = 0) -> Any:
        """Shape and layout of the state and of the cell state."""
        return super().state_info(batch_size) + super().state_info(batch_size)

    def hybrid_forward(  # type: ignore[override]
        self,
        F: ModuleType,
        inputs: Tensor,
        states: Sequence[Tensor],
        i2h_weight: Tensor,
        h2h_weight: Tensor,
        i2h_bias: Tensor,
        h2h_bias: Tensor,
    ) -> Any:
        """Output, and the new state and cell state."""
        step = f"t{self._counter}_"
        parameters = (i2h_weight, h2h_weight, i2h_bias, h2h_bias)
        i2h, h2h = self._mx_maps(F, inputs, states[0], parameters)
        parts = F.SliceChannel(
            i2h + h2h, num_outputs=4, axis=self._channel_axis, name=step + "slice"
        )
        enter, forget, leave = [
            F.Activation(parts[index], act_type="sigmoid", name=step + name)
            for index, name in ((0, "i"), (1, "f"), (3, "o"))
        ]
        new = self._get_activation(F, parts[2], self._activation, name=step + "c")
        cell = F.elemwise_add(forget * states[1], enter * new, name=step + "state")
        shown = self._get_activation(F, cell, self._activation)
        output = F.elemwise_mul(leave, shown, name=step + "out")
        return output, [output, cell]


class _ConvGRUCell(_BaseConvRNNCell):
    gates = 3

    def _alias(self) -> str:
        return "conv_gru"

    def hybrid_forward(  # type: ignore[override]
        self,
        F: ModuleType,
        inputs: Tensor,
        states: Sequence[Tensor],
        i2h_weight: Tensor,
        h2h_weight: Tensor,
        i2h_bias: Tensor,
        h2h_bias: Tensor,
    ) -> Any:
        """Output and new state, which are the same."""
        step = f"t{self._counter}_"
        parameters = (i2h_weight, h2h_weight, i2h_bias, h2h_bias)
        i2h, h2h = self._mx_maps(F, inputs, states[0], parameters)
        cut = {"num_outputs": 3, "axis": self._channel_axis}
        reset_in, update_in, new_in = F.SliceChannel(i2h, name=step + "i2h_slice", **cut)
        reset_h, update_h, new_h = F.SliceChannel(h2h, name=step + "h2h_slice", **cut)
        reset = F.Activation(reset_in + reset_h, act_type="sigmoid", name=step + "r_act")
        update = F.Activation(update_in + update_h, act_type="sigmoid", name=step + "z_act")
        total = new_in + reset * new_h
        new = self._get_activation(F, total, self._activation, name=step + "h_act")
        output = F.elemwise_add((1.0 - update) * new, update * states[0], name=step + "out")
        return output, [output]


def _over(dims: int, layout: str) -> Any:
    """The constructor of a cell over ``dims`` axes."""
    return with_defaults(
        _BaseConvRNNCell.__init__,
        i2h_pad=(0,) * dims,
        i2h_dilate=(1,) * dims,
        h2h_dilate=(1,) * dims,
        conv_layout=layout,
    )


class Conv1DRNNCell(_ConvRNNCell):
    """An ``RNNCell`` with convolutions over one axis in place of matrix products.

    Arguments as for ``Conv2DLSTMCell``.
    """

    dims = 1
    __init__ = _over(1, "NCW")


class Conv2DRNNCell(_ConvRNNCell):
    """An ``RNNCell`` with convolutions over two axes in place of matrix products.

    Arguments as for ``Conv2DLSTMCell``.
    """

    dims = 2
    __init__ = _over(2, "NCHW")


class Conv3DRNNCell(_ConvRNNCell):
    """An ``RNNCell`` with convolutions over three axes in place of matrix products.

    Arguments as for ``Conv2DLSTMCell``.
    """

    dims = 3
    __init__ = _over(3, "NCDHW")


class Conv1DLSTMCell(_ConvLSTMCell):
    """An ``LSTMCell`` with convolutions over one axis in place of matrix products. Shi et al., 2015.

    Arguments as for ``Conv2DLSTMCell``.
    """

    dims = 1
    __init__ = _over(1, "NCW")


class Conv2DLSTMCell(_ConvLSTMCell):
    """An ``LSTMCell`` with convolutions over two axes in place of matrix products. Shi et al., 2015.

    Args:
        input_shape: shape of a sample of the inputs, ``(channels, height, width)`` or as in the layout.
        hidden_channels: channels of the state.
        i2h_kernel: extents of the kernel of the inputs.
        h2h_kernel: extents of the kernel of the state, odd.
        i2h_pad: zeros around the inputs.
        i2h_dilate: distance of the elements of the inputs' kernel.
        h2h_dilate: distance of the elements of the state's kernel.
        i2h_weight_initializer: initializer of the weight of the inputs.
        h2h_weight_initializer: initializer of the weight of the state.
        i2h_bias_initializer: initializer of the bias of the inputs.
        h2h_bias_initializer: initializer of the bias of the state.
        conv_layout: axes of the arrays: ``NCHW`` or ``NHWC``.
        activation: name of an activation, a layer, or a function of data and name.
        prefix: prefix of its parameters' names.
        params: parameters to share.

    Raises:
        AssertionError: an even extent of ``h2h_kernel``, or extents for other numbers of axes.
    """

    dims = 2
    __init__ = _over(2, "NCHW")


class Conv3DLSTMCell(_ConvLSTMCell):
    """An ``LSTMCell`` with convolutions over three axes in place of matrix products. Shi et al., 2015.

    Arguments as for ``Conv2DLSTMCell``.
    """

    dims = 3
    __init__ = _over(3, "NCDHW")


class Conv1DGRUCell(_ConvGRUCell):
    """A ``GRUCell`` with convolutions over one axis in place of matrix products.

    Arguments as for ``Conv2DLSTMCell``.
    """

    dims = 1
    __init__ = _over(1, "NCW")


class Conv2DGRUCell(_ConvGRUCell):
    """A ``GRUCell`` with convolutions over two axes in place of matrix products.

    Arguments as for ``Conv2DLSTMCell``.
    """

    dims = 2
    __init__ = _over(2, "NCHW")


class Conv3DGRUCell(_ConvGRUCell):
    """A ``GRUCell`` with convolutions over three axes in place of matrix products.

    Arguments as for ``Conv2DLSTMCell``.
    """

    dims = 3
    __init__ = _over(3, "NCDHW")
