"""Recurrent cells on symbols with convolutional state transitions. Source: Shi et al., 2015."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mixnet import symbol as sym
from mixnet.base import CheckError, NotDefinedError
from mixnet.rnn.cell import BaseRNNCell, RNNParams, _PlainStep, gru_step, lstm_step
from mixnet.util import with_defaults

if TYPE_CHECKING:
    from mixnet.initializer.initializer import Initializer
    from mixnet.symbol.symbol import Symbol

_leaky = functools.partial(sym.LeakyReLU, act_type="leaky", slope=0.2)


class BaseConvRNNCell(BaseRNNCell):
    """Base of the convolutional cells.

    Args:
        input_shape: shape of a batch of inputs, ``(batch, channels, height, width)`` or as the
            layout says; the batch does not matter.
        num_hidden: channels of the state.
        h2h_kernel: extents of the kernel of the state, odd.
        h2h_dilate: distance of the elements of the state's kernel.
        i2h_kernel: extents of the kernel of the inputs.
        i2h_stride: steps of the inputs' kernel.
        i2h_pad: zeros around the inputs.
        i2h_dilate: distance of the elements of the inputs' kernel.
        i2h_weight_initializer: initializer of the weight of the inputs.
        h2h_weight_initializer: initializer of the weight of the state.
        i2h_bias_initializer: initializer of the bias of the inputs.
        h2h_bias_initializer: initializer of the bias of the state.
        activation: name of an activation, or a function of a symbol and ``name``.
        prefix: text before names.
        params: variables to share.
        conv_layout: axes of the arrays.

    Raises:
        AssertionError: an even extent of ``h2h_kernel``.
    """

    def __init__(
        self,
        input_shape: Sequence[int],
        num_hidden: int,
        h2h_kernel: Sequence[int],
        h2h_dilate: Sequence[int],
        i2h_kernel: Sequence[int],
        i2h_stride: Sequence[int],
        i2h_pad: Sequence[int],
        i2h_dilate: Sequence[int],
        i2h_weight_initializer: Initializer | str | None,
        h2h_weight_initializer: Initializer | str | None,
        i2h_bias_initializer: Initializer | str | None,
        h2h_bias_initializer: Initializer | str | None,
        activation: str,
        prefix: str = "",
        params: RNNParams | None = None,
        conv_layout: str = "NCHW",
    ):
        super().__init__(prefix=prefix, params=params)
        if any(extent % 2 == 0 for extent in h2h_kernel):
            raise CheckError(
                f"h2h_kernel={h2h_kernel}: only odd extents keep the shape of the state."
            )
        self._num_hidden, self._activation, self._layout = num_hidden, activation, conv_layout
        self._iW = self.params.get("i2h_weight", init=i2h_weight_initializer)
        self._hW = self.params.get("h2h_weight", init=h2h_weight_initializer)
        self._iB = self.params.get("i2h_bias", init=i2h_bias_initializer)
        self._hB = self.params.get("h2h_bias", init=h2h_bias_initializer)
        rows = num_hidden * max(1, len(self._gate_names))
        self._i2h = {
            "num_filter": rows,
            "kernel": i2h_kernel,
            "stride": i2h_stride,
            "pad": i2h_pad,
            "dilate": i2h_dilate,
            "layout": conv_layout,
        }
        around = tuple(d * (k - 1) // 2 for d, k in zip(h2h_dilate, h2h_kernel, strict=True))
        self._h2h = {
            "num_filter": rows,
            "kernel": h2h_kernel,
            "stride": (1,) * len(h2h_kernel),
            "pad": around,
            "dilate": h2h_dilate,
            "layout": conv_layout,
        }
        convolved = sym.Convolution(sym.Variable("data"), **{**self._i2h, "num_filter": num_hidden})
        _, shapes, _ = convolved.infer_shape(data=tuple(input_shape))
        assert shapes is not None
        self._state_shape = (0, *shapes[0][1:])

    @property
    def state_info(self) -> Any:
        """Shape and layout of the state."""
        return [{"shape": self._state_shape, "__layout__": self._layout}]

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> Any:
        """One step: output and new states."""
        raise NotDefinedError(
            f"{type(self).__name__} does not define __call__(self, inputs, states)."
        )

    def _mx_maps(
        self, inputs: Symbol | Sequence[Symbol] | None, state: object, name: str
    ) -> tuple[Any, Any]:
        i2h = sym.Convolution(
            data=inputs, weight=self._iW, bias=self._iB, name=name + "i2h", **self._i2h
        )
        h2h = sym.Convolution(
            data=state, weight=self._hW, bias=self._hB, name=name + "h2h", **self._h2h
        )
        return i2h, h2h


def _named(prefix: str) -> Any:
    """The constructor of a cell over two axes."""
    return with_defaults(
        BaseConvRNNCell.__init__,
        h2h_kernel=(3, 3),
        h2h_dilate=(1, 1),
        i2h_kernel=(3, 3),
        i2h_stride=(1, 1),
        i2h_pad=(1, 1),
        i2h_dilate=(1, 1),
        i2h_weight_initializer=None,
        h2h_weight_initializer=None,
        i2h_bias_initializer="zeros",
        h2h_bias_initializer="zeros",
        activation=_leaky,
        prefix=prefix,
    )


class ConvRNNCell(_PlainStep, BaseConvRNNCell):
    """An ``RNNCell`` with convolutions in place of matrix products; arguments as of ``BaseConvRNNCell``."""

    __init__ = _named("ConvRNN_")


class ConvLSTMCell(BaseConvRNNCell):
    """An ``LSTMCell`` with convolutions in place of matrix products; arguments as of ``BaseConvRNNCell``."""

    __init__ = _named("ConvLSTM_")

    @property
    def _gate_names(self) -> Any:
        return ["_i", "_f", "_c", "_o"]

    @property
    def state_info(self) -> Any:
        """Shape and layout of the state and of the cell state."""
        return [{"shape": self._state_shape, "__layout__": self._layout} for _ in range(2)]

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> Any:
        """Output, and the new state and cell state."""
        name = self._mx_next_step()
        i2h, h2h = self._mx_maps(inputs, states[0], name)
        axis = self._layout.find("C")
        return lstm_step(
            i2h + h2h, states[1], name, self._activation, self._get_activation, axis=axis
        )


class ConvGRUCell(BaseConvRNNCell):
    """A ``GRUCell`` with convolutions in place of matrix products; arguments as of ``BaseConvRNNCell``."""

    __init__ = _named("ConvGRU_")

    @property
    def _gate_names(self) -> Any:
        return ["_r", "_z", "_o"]

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> Any:
        """Output and new state, which are the same."""
        name = self._mx_next_step()
        i2h, h2h = self._mx_maps(inputs, states[0], name)
        output = gru_step(i2h, h2h, states[0], name, self._activation, self._get_activation)
        return output, [output]
