"""The initializer for the packed parameters of a fused RNN operator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mixnet.base import AttributeValueError
from mixnet.initializer.initializer import InitDesc, Initializer, create, register
from mixnet.ndarray.ndarray import NDArray

GATES = {
    "rnn_relu": ("",),
    "rnn_tanh": ("",),
    "lstm": ("_i", "_f", "_c", "_o"),
    "gru": ("_r", "_z", "_o"),
}


@register
class FusedRNN(Initializer):
    """Every weight and bias inside the one vector of a fused recurrent layer, each by its name.

    The vector holds all weights, then all biases; of each layer and direction first those of the
    data, then those of the state.

    Args:
        init: initializer of the parts, its ``dumps()``, or None for that of the network.
        num_hidden: units.
        num_layers: layers.
        mode: ``rnn_relu``, ``rnn_tanh``, ``lstm`` or ``gru``.
        bidirectional: whether there are two directions.
        forget_bias: bias of the forget gate of an LSTM.
    """

    def __init__(
        self,
        init: Any,
        num_hidden: int,
        num_layers: int,
        mode: str,
        bidirectional: bool = False,
        forget_bias: float = 1.0,
    ):
        if isinstance(init, str):
            init = create(init)
        super().__init__(
            init=None if init is None else init.dumps(),
            num_hidden=num_hidden,
            num_layers=num_layers,
            mode=mode,
            bidirectional=bidirectional,
            forget_bias=forget_bias,
        )
        self._init = init
        self._num_hidden, self._num_layers, self._mode = num_hidden, num_layers, mode
        self._bidirectional, self._forget_bias = bidirectional, forget_bias

    def _parts(self, size: int) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Names and shapes of the parts in the order of the vector of ``size`` numbers."""
        units, gates = self._num_hidden, GATES[self._mode]
        directions = ("l", "r") if self._bidirectional else ("l",)
        rows, between = len(gates) * units, units * len(directions)
        later = (self._num_layers - 1) * len(directions) * rows * (between + units + 2)
        inputs = (size - later) // (len(directions) * rows) - units - 2
        groups = [
            (f"{direction}{layer}_{group}", width)
            for layer in range(self._num_layers)
            for direction in directions
            for group, width in (("i2h", between if layer else inputs), ("h2h", units))
        ]
        for name, width in groups:
            for gate in gates:
                yield f"{name}{gate}_weight", (units, width)
        for name, _ in groups:
            for gate in gates:
                yield f"{name}{gate}_bias", (units,)

    def _init_weight(self, desc: str, arr: NDArray) -> None:
        global_init = desc.global_init if isinstance(desc, InitDesc) else None
        chosen = self._init or global_init
        if chosen is None or chosen is self:  # an initializer of a network is its own global_init
            raise AttributeValueError(
                f"FusedRNN: there is no initializer for the parts of {desc!r}: pass init=, or an InitDesc "
                f"with the network's global_init."
            )
        begin = 0
        for name, shape in self._parts(arr.size):
            end = begin + (shape[0] * shape[1] if len(shape) == 2 else shape[0])
            part = arr[begin:end].reshape(shape)
            if self._mode == "lstm" and name.endswith("_f_bias"):
                part[:] = self._forget_bias
            else:
                chosen(InitDesc(name, global_init=global_init), part)
            begin = end
