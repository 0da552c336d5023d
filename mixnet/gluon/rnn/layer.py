"""Recurrent layers: whole sequences through several layers, in one operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mixnet import ndarray as nd
from mixnet import symbol as sym
from mixnet.base import (
    AttributeValueError,
    CheckError,
    NotAnArrayError,
    ObjectKindError,
    ShapeError,
    UnknownNameError,
)
from mixnet.gluon.block import HybridBlock
from mixnet.gluon.parameter import Parameter
from mixnet.gluon.rnn.cell import GRUCell, HybridRecurrentCell, LSTMCell, RNNCell
from mixnet.gluon.rnn.container import BidirectionalCell, HybridSequentialRNNCell
from mixnet.gluon.rnn.modifier import DropoutCell
from mixnet.gluon.rnn.sequence import TENSORS
from mixnet.ndarray.ndarray import NDArray
from mixnet.ops.nn.recurrent import GATES
from mixnet.ops.schema.arguments import check_arguments
from mixnet.ops.schema.attributes import Count, Positive, Share
from mixnet.symbol.symbol import Symbol
from mixnet.util import is_np_array

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.dtype import DTypeLike
    from mixnet.gluon.block.tensor import Tensor
    from mixnet.initializer.initializer import Initializer


class _Zeros(tuple[Any, ...]):
    """States that the layer created itself, which are not returned to the caller."""

    def __new__(cls, *states: Any) -> _Zeros:
        return super().__new__(cls, states)


class _RNNLayer(HybridBlock):
    """Base of the recurrent layers; arguments as for ``LSTM``."""

    @check_arguments
    def __init__(
        self,
        hidden_size: Positive,
        num_layers: Positive,
        layout: str,
        dropout: Share,
        bidirectional: bool,
        input_size: Count,
        i2h_weight_initializer: Any,
        h2h_weight_initializer: Any,
        i2h_bias_initializer: Any,
        h2h_bias_initializer: Any,
        mode: str,
        projection_size: Count | None,
        h2r_weight_initializer: Any,
        lstm_state_clip_min: float | None,
        lstm_state_clip_max: float | None,
        lstm_state_clip_nan: bool,
        dtype: Any,
        use_sequence_length: bool = False,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        if layout not in ("TNC", "NTC"):
            raise CheckError(f"Invalid layout {layout!r}; it must be 'TNC' or 'NTC'.")
        self._hidden_size, self._num_layers = hidden_size, num_layers
        self._projection_size = projection_size or None
        self._mode, self._layout, self._dropout = mode, layout, dropout
        self._dir = 2 if bidirectional else 1
        self._input_size, self._dtype = input_size, dtype
        self._mx_clip = {
            "lstm_state_clip_min": lstm_state_clip_min,
            "lstm_state_clip_max": lstm_state_clip_max,
            "lstm_state_clip_nan": lstm_state_clip_nan,
        }
        self._use_sequence_length = use_sequence_length
        self.skip_states: bool | None = None
        if mode not in GATES:
            names = ", ".join(
                each.removeprefix("rnn_") for each in GATES if each.startswith("rnn_")
            )
            raise UnknownNameError(
                f"RNN: activation={mode.removeprefix('rnn_')!r} is not one of {names}."
            )
        self._gates = GATES[mode]
        self._mx_initializers = {
            "i2h_weight": i2h_weight_initializer,
            "h2h_weight": h2h_weight_initializer,
            "i2h_bias": i2h_bias_initializer,
            "h2h_bias": h2h_bias_initializer,
            "h2r_weight": h2r_weight_initializer,
        }
        self._mx_make_parameters()

    def _mx_make_parameters(self) -> None:
        """Weights and biases of every layer and direction, as attributes ``l0_i2h_weight`` and so on."""
        hidden_size, projection_size = self._hidden_size, self._projection_size
        rows, out = self._gates * hidden_size, projection_size or hidden_size
        for layer in range(self._num_layers):
            units = self._input_size if layer == 0 else out * self._dir
            shapes = {
                "i2h_weight": (rows, units),
                "h2h_weight": (rows, out),
                "i2h_bias": (rows,),
                "h2h_bias": (rows,),
            }
            if projection_size:
                shapes["h2r_weight"] = (projection_size, hidden_size)
            for side in "lr"[: self._dir]:
                for kind, shape in shapes.items():
                    name = f"{side}{layer}_{kind}"
                    parameter = self.params.get(
                        name,
                        shape=shape,
                        init=self._mx_initializers[kind],
                        allow_deferred_init=True,
                        dtype=self._dtype,
                    )
                    setattr(self, name, parameter)

    def _unfuse(self) -> HybridSequentialRNNCell:
        """A stack of cells with the parameters of this layer, which can be unrolled step by step.

        Raises:
            MXNetError: the layer projects or clips its states, which cells do not.
        """
        if self._projection_size or any(
            each not in (None, False) for each in self._mx_clip.values()
        ):
            raise CheckError(
                f"{self.name}: cells have neither projection_size nor lstm_state_clip; "
                f"make the layer without them."
            )
        stack = HybridSequentialRNNCell(prefix=self.prefix, params=self.params)
        units = self._input_size
        with stack.name_scope():
            for layer in range(self._num_layers):
                cells = [self._mx_cell(f"{side}{layer}_", units) for side in "lr"[: self._dir]]
                stack.add(BidirectionalCell(cells[0], cells[1]) if self._dir == 2 else cells[0])
                if self._dropout > 0 and layer < self._num_layers - 1:
                    stack.add(DropoutCell(self._dropout))
                units = self._hidden_size * self._dir
        return stack

    def _mx_cell(self, prefix: str, units: int) -> HybridRecurrentCell:
        """One of the cells that this layer runs in one operator."""
        options: dict[str, Any] = {"input_size": units, "prefix": prefix}
        for kind in ("i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias"):
            options[f"{kind}_initializer"] = self._mx_initializers[kind]
        if self._mode == "lstm":
            return LSTMCell(self._hidden_size, **options)
        if self._mode == "gru":
            return GRUCell(self._hidden_size, **options)
        activation = self._mode.removeprefix("rnn_")
        return RNNCell(self._hidden_size, activation=activation, **options)

    def __repr__(self) -> str:
        units = self._reg_params["l0_i2h_weight"].shape[1]
        parts = [f"{units or None} -> {self._hidden_size}", self._layout]
        if self._num_layers != 1:
            parts.append(f"num_layers={self._num_layers}")
        if self._dropout != 0:
            parts.append(f"dropout={self._dropout}")
        if self._dir == 2:
            parts.append("bidirectional")
        return f"{type(self).__name__}({', '.join(parts)})"

    def _collect_params_with_prefix(self, prefix: str = "") -> dict[str, Parameter]:
        """Parameters with the names of a stack of cells, as in files."""
        dot = prefix + "." if prefix else ""
        parameters = {}
        for name, each in self._reg_params.items():
            side, _, kind = name.partition("_")
            cell = f"{side[0]}_cell." if self._dir == 2 else ""
            parameters[f"{dot}_unfused.{side[1:]}.{cell}{kind}"] = each
        return parameters

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape, layout and dtype of each state.

        Args:
            batch_size: number of samples.
        """
        return [self._mx_state(batch_size, self._hidden_size)]

    def _mx_state(self, batch_size: int, units: int) -> dict[str, Any]:
        shape = (self._num_layers * self._dir, batch_size, units)
        return {"shape": shape, "__layout__": "LNC", "dtype": self._dtype}

    def cast(self, dtype: DTypeLike) -> None:
        """Change the dtype of the parameters and of initial states."""
        super().cast(dtype)
        self._dtype = dtype

    def begin_state(self, batch_size: int = 0, func: Any = nd.zeros, **kwargs: object) -> list[Any]:
        """Initial states: ``(layers * directions, batch, units)`` each.

        Args:
            batch_size: samples in a batch.
            func: creates a state: ``mx.nd.zeros``, ``mx.sym.zeros``, ``mx.nd.ones`` and so on.
            kwargs: further arguments for ``func``, such as ``ctx`` or ``dtype``.
        """
        states = []
        for i, info in enumerate(self.state_info(batch_size)):
            state = func(name=f"{self.prefix}h0_{i}", **{**info, **kwargs})
            states.append(state.as_np_ndarray() if is_np_array() else state)
        return states

    def __call__(  # type: ignore[override]
        self,
        inputs: Tensor | Sequence[Tensor],
        states: Any = None,
        sequence_length: Tensor | None = None,
        **kwargs: object,
    ) -> Any:
        """Outputs, and the final states if initial states were given.

        Args:
            inputs: ``(time, batch, units)``, or according to the layout.
            states: initial states, as from ``begin_state``; zeros by default.
            sequence_length: ``(batch,)``, with ``use_sequence_length``.

        Raises:
            ShapeError: the inputs do not have three axes, or ``sequence_length`` is missing.
            ValueError: a state's shape does not match the inputs.
        """
        self.skip_states = states is None
        if isinstance(inputs, NDArray):
            self._mx_check_inputs(inputs.shape)
        if states is None:
            if isinstance(inputs, Symbol):
                states = _Zeros(*self.begin_state(0, func=sym.zeros))
            elif isinstance(inputs, TENSORS):
                batch = inputs.shape[self._layout.find("N")]
                initial = self.begin_state(batch, ctx=inputs.context, dtype=inputs.dtype)
                states = _Zeros(*initial)
            else:
                raise NotAnArrayError(
                    f"{type(self).__name__} takes an array or a symbol, not "
                    f"{type(inputs).__name__}."
                )
        elif isinstance(states, TENSORS):
            states = [states]
        self._mx_check_states(inputs, states)
        if len(states) != len(self.state_info()):
            raise ShapeError(
                f"{type(self).__name__} takes a list of {len(self.state_info())} first states, as "
                f"begin_state(batch_size) makes it, not {len(states)}."
            )
        if not self._use_sequence_length:
            return super().__call__(inputs, states, **kwargs)
        if sequence_length is None and isinstance(inputs, NDArray):
            raise ShapeError(
                f"{type(self).__name__} with use_sequence_length=True also takes sequence_length, the "
                f"number of steps of each sample."
            )
        return super().__call__(inputs, states, sequence_length, **kwargs)

    def _mx_check_inputs(self, shape: tuple[int, ...]) -> None:
        words = {"T": "time", "N": "batch", "C": "units"}
        title, axes = type(self).__name__, ", ".join(words[each] for each in self._layout)
        if len(shape) != 3:
            raise ShapeError(
                f"{title} takes inputs of 3 axes, ({axes}) with layout={self._layout!r}, not {shape}."
            )
        weight = self._reg_params["l0_i2h_weight"].shape
        if weight is not None and weight[1] > 0 and weight[1] != shape[2]:
            raise ShapeError(
                f"{title} takes inputs of {weight[1]} units, ({axes}), as set by input_size or the "
                f"first data; these are {shape}."
            )

    def _mx_check_states(self, inputs: Any, states: Any) -> None:
        """Compare shapes before the number of states, in MXNet's order."""
        if isinstance(inputs, Symbol):
            return
        batch = inputs.shape[self._layout.find("N")]
        for state, info in zip(states, self.state_info(batch), strict=False):
            if not isinstance(state, TENSORS):
                raise ObjectKindError(
                    f"{type(self).__name__} takes states that are arrays of shape {info['shape']}, "
                    f"not {type(state).__name__}; begin_state(batch_size={batch}) makes them."
                )
            if state.shape != info["shape"]:
                raise AttributeValueError(
                    f"Invalid recurrent state shape. Expecting {info['shape']}, got "
                    f"{state.shape}; begin_state(batch_size={batch}) makes it."
                )

    def infer_shape(self, *args: Any) -> None:
        """Complete the shapes of parameters from the inputs."""
        inputs = args[0]
        if isinstance(inputs, Symbol) or len(inputs.shape) != 3:
            super().infer_shape(*args)
            return
        for side in "lr"[: self._dir]:
            each = self._reg_params[f"{side}0_i2h_weight"]
            each.shape = (self._gates * self._hidden_size, inputs.shape[2])

    def hybrid_forward(  # type: ignore[override]
        self,
        F: Any,
        inputs: Any,
        states: Any,
        sequence_length: Tensor | None = None,
        **kwargs: Any,
    ) -> Any:
        """Call the operator ``RNN`` with the parameters concatenated to one vector."""
        numpy = is_np_array()
        swap = F.np.swapaxes if numpy else F.swapaxes
        if self._layout == "NTC":
            inputs = swap(inputs, 0, 1)
        arrays = [inputs, self._mx_vector(F, kwargs), *states]
        named = {"sequence_length": sequence_length} if self._use_sequence_length else {}
        run = F.npx.rnn if numpy else F.RNN
        outputs, *after = run(
            *arrays,
            **named,
            use_sequence_length=self._use_sequence_length,
            state_size=self._hidden_size,
            projection_size=self._projection_size,
            num_layers=self._num_layers,
            bidirectional=self._dir == 2,
            p=self._dropout,
            state_outputs=True,
            mode=self._mode,
            **self._mx_clip,
        )
        if self._layout == "NTC":
            outputs = swap(outputs, 0, 1)
        return outputs if isinstance(states, _Zeros) else (outputs, after)

    def _mx_vector(self, F: ModuleType, parameters: dict[str, Any]) -> Any:
        """All parameters as one vector, as the operator needs them: weights, then biases."""
        weights = ("i2h_weight", "h2h_weight", *(["h2r_weight"] if self._projection_size else []))
        parts = [
            parameters[f"{side}{layer}_{kind}"]
            for kinds in (weights, ("i2h_bias", "h2h_bias"))
            for layer in range(self._num_layers)
            for side in "lr"[: self._dir]
            for kind in kinds
        ]
        if is_np_array():
            return F._internal._npi_rnn_param_concat(*[p.reshape(-1) for p in parts], dim=0)
        return F._internal._rnn_param_concat(*[F.reshape(p, shape=-1) for p in parts], dim=0)


class RNN(_RNNLayer):
    """Elman's network in several layers. Source: Elman, 1990.

    Args:
        hidden_size: units of a layer.
        num_layers: layers, each on the outputs of the one below.
        activation: ``relu`` or ``tanh``.
        layout: axes of inputs and outputs: ``TNC`` (time, batch, units) or ``NTC``.
        dropout: probability of dropping an output of a layer before the next layer, in training; as in MXNet,
            without effect in float32 on a CPU, unless ``MIXNET_RANDOM=threefry``.
        bidirectional: whether each layer also runs backwards.
        i2h_weight_initializer: initializer of the weights of the inputs.
        h2h_weight_initializer: initializer of the weights of the states.
        i2h_bias_initializer: initializer of the biases of the inputs.
        h2h_bias_initializer: initializer of the biases of the states.
        input_size: units of the inputs; 0: inferred from the first data.
        dtype: dtype of the parameters.
        kwargs: ``prefix``, ``params``, ``use_sequence_length``.
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        activation: str = "relu",
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        i2h_weight_initializer: Initializer | str | None = None,
        h2h_weight_initializer: Initializer | str | None = None,
        i2h_bias_initializer: Initializer | str | None = "zeros",
        h2h_bias_initializer: Initializer | str | None = "zeros",
        input_size: int = 0,
        dtype: DTypeLike = "float32",
        **kwargs: Any,
    ):
        super().__init__(
            hidden_size,
            num_layers,
            layout,
            dropout,
            bidirectional,
            input_size,
            i2h_weight_initializer,
            h2h_weight_initializer,
            i2h_bias_initializer,
            h2h_bias_initializer,
            "rnn_" + activation,
            None,
            None,
            None,
            None,
            False,
            dtype,
            **kwargs,
        )


class LSTM(_RNNLayer):
    """Long short-term memory in several layers. Source: Hochreiter and Schmidhuber, 1997.

    Args:
        hidden_size: units of a layer.
        num_layers: layers, each on the outputs of the one below.
        layout: axes of inputs and outputs: ``TNC`` (time, batch, units) or ``NTC``.
        dropout: probability of dropping an output of a layer before the next layer, in training; as in MXNet,
            without effect in float32 on a CPU, unless ``MIXNET_RANDOM=threefry``.
        bidirectional: whether each layer also runs backwards.
        input_size: units of the inputs; 0: inferred from the first data.
        i2h_weight_initializer: initializer of the weights of the inputs.
        h2h_weight_initializer: initializer of the weights of the states.
        i2h_bias_initializer: initializer of the biases of the inputs.
        h2h_bias_initializer: initializer of the biases of the states.
        projection_size: units that outputs and states are projected to. Source: Sak et al., 2014.
        h2r_weight_initializer: initializer of the weights of the projection.
        state_clip_min: minimum value of a cell state, with ``state_clip_max``.
        state_clip_max: maximum value of a cell state.
        state_clip_nan: NaN in a cell state becomes the minimum value.
        dtype: dtype of the parameters.
        kwargs: ``prefix``, ``params``, ``use_sequence_length``.
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        input_size: int = 0,
        i2h_weight_initializer: Initializer | str | None = None,
        h2h_weight_initializer: Initializer | str | None = None,
        i2h_bias_initializer: Initializer | str | None = "zeros",
        h2h_bias_initializer: Initializer | str | None = "zeros",
        projection_size: int | None = None,
        h2r_weight_initializer: Initializer | str | None = None,
        state_clip_min: float | None = None,
        state_clip_max: float | None = None,
        state_clip_nan: bool = False,
        dtype: DTypeLike = "float32",
        **kwargs: Any,
    ):
        super().__init__(
            hidden_size,
            num_layers,
            layout,
            dropout,
            bidirectional,
            input_size,
            i2h_weight_initializer,
            h2h_weight_initializer,
            i2h_bias_initializer,
            h2h_bias_initializer,
            "lstm",
            projection_size,
            h2r_weight_initializer,
            state_clip_min,
            state_clip_max,
            state_clip_nan,
            dtype,
            **kwargs,
        )

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape, layout and dtype of the state and of the cell state.

        Args:
            batch_size: number of samples.
        """
        out = self._projection_size or self._hidden_size
        return [self._mx_state(batch_size, units) for units in (out, self._hidden_size)]


class GRU(_RNNLayer):
    """Gated recurrent units in several layers. Source: Cho et al., 2014.

    Args:
        hidden_size: units of a layer.
        num_layers: layers, each on the outputs of the one below.
        layout: axes of inputs and outputs: ``TNC`` (time, batch, units) or ``NTC``.
        dropout: probability of dropping an output of a layer before the next layer, in training; as in MXNet,
            without effect in float32 on a CPU, unless ``MIXNET_RANDOM=threefry``.
        bidirectional: whether each layer also runs backwards.
        input_size: units of the inputs; 0: inferred from the first data.
        i2h_weight_initializer: initializer of the weights of the inputs.
        h2h_weight_initializer: initializer of the weights of the states.
        i2h_bias_initializer: initializer of the biases of the inputs.
        h2h_bias_initializer: initializer of the biases of the states.
        dtype: dtype of the parameters.
        kwargs: ``prefix``, ``params``, ``use_sequence_length``.
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        input_size: int = 0,
        i2h_weight_initializer: Initializer | str | None = None,
        h2h_weight_initializer: Initializer | str | None = None,
        i2h_bias_initializer: Initializer | str | None = "zeros",
        h2h_bias_initializer: Initializer | str | None = "zeros",
        dtype: DTypeLike = "float32",
        **kwargs: Any,
    ):
        super().__init__(
            hidden_size,
            num_layers,
            layout,
            dropout,
            bidirectional,
            input_size,
            i2h_weight_initializer,
            h2h_weight_initializer,
            i2h_bias_initializer,
            h2h_bias_initializer,
            "gru",
            None,
            None,
            None,
            None,
            False,
            dtype,
            **kwargs,
        )
