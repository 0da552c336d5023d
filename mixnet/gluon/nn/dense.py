"""Affine layers, embeddings, and what has no parameters: Flatten, Dropout, Lambda."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mixnet import ndarray as nd
from mixnet import symbol as sym
from mixnet.dtype import as_dtype
from mixnet.gluon.block import Block
from mixnet.gluon.hybrid import HybridBlock
from mixnet.gluon.nn.activation import Activation
from mixnet.initializer import create as create_initializer


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
        in_units: inputs per sample; 0 follows from the first data.
    """

    def __init__(
        self,
        units: int,
        activation: str | None = None,
        use_bias: bool = True,
        flatten: bool = True,
        dtype: Any = "float32",
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_units: int = 0,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self._units, self._in_units, self._flatten = units, in_units, flatten
        with self.name_scope():
            self.weight = self.params.get(
                "weight",
                shape=(units, in_units),
                init=initializer(weight_initializer),
                dtype=dtype,
                allow_deferred_init=True,
            )
            self.bias = None
            if use_bias:
                self.bias = self.params.get(
                    "bias",
                    shape=(units,),
                    init=initializer(bias_initializer),
                    dtype=dtype,
                    allow_deferred_init=True,
                )
            self.act = None
            if activation is not None:
                self.act = Activation(activation, prefix=activation + "_")

    def hybrid_forward(self, F: Any, x: Any, weight: Any = None, bias: Any = None) -> Any:
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
        activation = "linear" if self.act is None else repr(self.act)
        return f"Dense({shape[1] if shape[1] else None} -> {shape[0]}, {activation})"


def initializer(given: Any) -> Any:
    """An initializer from its name, itself, or None."""
    return create_initializer(given) if given is not None else None


class Embedding(HybridBlock):
    """Rows of a learned table at whole numbers.

    Args:
        input_dim: rows.
        output_dim: extent of a row.
        dtype: dtype of the table.
        weight_initializer: initializer of the table.
        sparse_grad: the gradient holds only the rows that were read (row_sparse).
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        dtype: Any = "float32",
        weight_initializer: Any = None,
        sparse_grad: bool = False,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self._kwargs = {
            "input_dim": input_dim,
            "output_dim": output_dim,
            "dtype": as_dtype(dtype).name,
            "sparse_grad": sparse_grad,
        }
        self.weight = self.params.get(
            "weight",
            shape=(input_dim, output_dim),
            init=initializer(weight_initializer),
            dtype=dtype,
            allow_deferred_init=True,
            grad_stype="row_sparse" if sparse_grad else "default",
        )

    def hybrid_forward(self, F: Any, x: Any, weight: Any = None) -> Any:
        """Rows at ``x``."""
        return F.Embedding(x, weight, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        given = self._kwargs
        return f"Embedding({given['input_dim']} -> {given['output_dim']}, {given['dtype']})"


class Flatten(HybridBlock):
    """All axes of a sample joined."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """``(batch, rest)``."""
        return F.Flatten(x)

    def __repr__(self) -> str:
        return "Flatten"


class Dropout(HybridBlock):
    """Elements set to 0 with probability ``rate`` in training.

    Args:
        rate: probability.
        axes: axes along which elements share their fate.
    """

    def __init__(self, rate: float, axes: Any = (), **kwargs: Any):
        super().__init__(**kwargs)
        self._rate, self._axes = rate, tuple(axes)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """The data with elements dropped."""
        if self._rate == 0:
            return F.identity(x)
        return F.Dropout(x, p=self._rate, axes=self._axes, name="fwd", cudnn_off=False)

    def __repr__(self) -> str:
        return f"Dropout(p = {self._rate}, axes={self._axes})"


def _function(given: str | Callable[..., Any], namespaces: Any) -> Callable[..., Any]:
    if callable(given):
        return given
    for namespace in namespaces:
        if not hasattr(namespace, given):
            raise AttributeError(
                f"{given!r} is no operator of {namespace.__name__}; see its dir()."
            )
    return getattr(namespaces[0], given)


class Lambda(Block):
    """A function as a block.

    Args:
        function: a function of arrays, or the name of an operator.
    """

    def __init__(self, function: str | Callable[..., Any], prefix: str | None = None):
        super().__init__(prefix=prefix)
        self._func = _function(function, (nd,))
        self._label = function if isinstance(function, str) else function.__name__

    def forward(self, *args: Any) -> Any:
        """The function of the inputs."""
        return self._func(*args)

    def __repr__(self) -> str:
        return f"Lambda({self._label})"


class HybridLambda(HybridBlock):
    """A function of ``F`` and inputs as a hybrid block.

    Args:
        function: a function ``f(F, x, ...)``, or the name of an operator.
    """

    def __init__(self, function: str | Callable[..., Any], prefix: str | None = None):
        super().__init__(prefix=prefix)
        _function(function, (nd, sym))
        if isinstance(function, str):
            self._func: Callable[..., Any] = lambda F, *args: getattr(F, function)(*args)
        else:
            self._func = function
        self._label = function if isinstance(function, str) else function.__name__

    def hybrid_forward(self, F: Any, x: Any, *args: Any) -> Any:
        """The function of the inputs."""
        return self._func(F, x, *args)

    def __repr__(self) -> str:
        return f"HybridLambda({self._label})"
