"""Dense layers, Flatten and Dropout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mixnet.base import AttributeTypeError, numeric_types
from mixnet.dtype import DTypeLike
from mixnet.gluon.block import HybridBlock
from mixnet.gluon.nn.activation import Activation
from mixnet.initializer.initializer import Initializer
from mixnet.ops.schema.arguments import check_arguments
from mixnet.ops.schema.attributes import Count, Positive, Share

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.gluon.block.tensor import Tensor


class Dense(HybridBlock):
    """Affine layer: ``activation(data · weightᵀ + bias)``.

    Args:
        units: outputs per sample.
        activation: name of an activation, None for none.
        use_bias: whether there is a bias.
        flatten: join all axes of a sample.
        dtype: dtype of the parameters.
        weight_initializer: initializer of the weight.
        bias_initializer: initializer of the bias.
        in_units: inputs per sample; 0: inferred from the first data.
        kwargs: ``prefix``, ``params``.
    """

    @check_arguments
    def __init__(
        self,
        units: Positive,
        activation: str | None = None,
        use_bias: bool = True,
        flatten: bool = True,
        dtype: DTypeLike = "float32",
        weight_initializer: Initializer | str | None = None,
        bias_initializer: Initializer | str | None = "zeros",
        in_units: Count = 0,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self._units, self._in_units, self._flatten = units, in_units, flatten
        with self.name_scope():
            self.weight = self.params.get(
                "weight",
                shape=(units, in_units),
                init=weight_initializer,
                dtype=dtype,
                allow_deferred_init=True,
            )
            self.bias = None
            if use_bias:
                self.bias = self.params.get(
                    "bias",
                    shape=(units,),
                    init=bias_initializer,
                    dtype=dtype,
                    allow_deferred_init=True,
                )
            self.act = None
            if activation is not None:
                self.act = Activation(activation, prefix=activation + "_")

    def hybrid_forward(
        self, F: ModuleType, x: Tensor, weight: Tensor, bias: Tensor | None = None
    ) -> Any:
        """The affine map, then the activation."""
        out = F.FullyConnected(
            x,
            weight,
            bias,
            no_bias=bias is None,
            num_hidden=self._units,
            flatten=self._flatten,
            name="fwd",
        )
        return out if self.act is None else self.act(out)

    def __repr__(self) -> str:
        shape = self.weight.shape
        inputs = shape[1] or None  # unknown: 0, or -1 with NumPy's shapes
        activation = "linear" if self.act is None else repr(self.act)
        return f"{type(self).__name__}({inputs} -> {shape[0]}, {activation})"


class Flatten(HybridBlock):
    """Flattens each sample to one axis.

    Args:
        kwargs: ``prefix`` and ``params`` of :class:`Block`.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)

    def hybrid_forward(self, F: ModuleType, x: Tensor) -> Any:
        """``(batch, rest)``."""
        return F.Flatten(x)

    def __repr__(self) -> str:
        return type(self).__name__


class Dropout(HybridBlock):
    """In training, sets elements to 0 with probability ``rate`` and scales the others by ``1 / (1 - rate)``.

    Args:
        rate: probability.
        axes: axes along which elements are dropped together.
        kwargs: ``prefix``, ``params``.
    """

    @check_arguments
    def __init__(self, rate: Share, axes: Sequence[int] = (), **kwargs: Any):
        super().__init__(**kwargs)
        if not isinstance(rate, numeric_types):
            raise AttributeTypeError(f"Dropout: rate={rate!r:.60} is not a number from 0 to 1.")
        self._rate, self._axes = rate, axes

    def hybrid_forward(self, F: ModuleType, x: Tensor) -> Any:
        """The data with elements dropped."""
        if self._rate > 0:
            return F.Dropout(x, p=self._rate, axes=self._axes, name="fwd", cudnn_off=False)
        return F.identity(x)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p = {self._rate}, axes={self._axes})"
