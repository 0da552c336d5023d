"""Activation layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mixnet.base import CheckError
from mixnet.gluon.block import HybridBlock
from mixnet.initializer import Constant

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.gluon.block.tensor import Tensor
    from mixnet.initializer.initializer import Initializer


class Activation(HybridBlock):
    """An activation function by name.

    Args:
        activation: ``relu``, ``sigmoid``, ``tanh``, ``softrelu`` or ``softsign``.
        kwargs: ``prefix``, ``params``.
    """

    def __init__(self, activation: str, **kwargs: Any):
        self._act_type = activation
        super().__init__(**kwargs)

    def _alias(self) -> str:
        return self._act_type

    def hybrid_forward(self, F: ModuleType, x: Tensor) -> Any:
        """The activation of every element."""
        return F.Activation(x, act_type=self._act_type, name="fwd")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._act_type})"


class LeakyReLU(HybridBlock):
    """x where x > 0, else alpha · x.

    Args:
        alpha: slope below 0.
        kwargs: ``prefix``, ``params``.
    """

    def __init__(self, alpha: float, **kwargs: Any):
        if alpha < 0:
            raise CheckError(f"LeakyReLU: alpha={alpha} is a slope and must be at least 0.")
        super().__init__(**kwargs)
        self._alpha = alpha

    def hybrid_forward(self, F: ModuleType, x: Tensor) -> Any:
        """The activation of every element."""
        return F.LeakyReLU(x, act_type="leaky", slope=self._alpha, name="fwd")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._alpha})"


class PReLU(HybridBlock):
    """Leaky ReLU with a learned slope. Source: He et al., 2015.

    Args:
        alpha_initializer: of the slope.
        in_channels: number of slopes: 1 for a slope shared by all channels, otherwise the number of channels.
        kwargs: ``prefix``, ``params``.
    """

    def __init__(
        self,
        alpha_initializer: Initializer | str | None = Constant(0.25),
        in_channels: int = 1,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        with self.name_scope():
            self.alpha = self.params.get("alpha", shape=(in_channels,), init=alpha_initializer)

    def hybrid_forward(self, F: ModuleType, x: Tensor, alpha: Tensor) -> Any:
        """The activation of every element."""
        return F.LeakyReLU(x, gamma=alpha, act_type="prelu", name="fwd")


class ELU(HybridBlock):
    """x where x > 0, else alpha · (exp(x) - 1). Source: Clevert et al., 2015.

    Args:
        alpha: scale below 0.
        kwargs: ``prefix``, ``params``.
    """

    def __init__(self, alpha: float = 1.0, **kwargs: Any):
        super().__init__(**kwargs)
        self._alpha = alpha

    def hybrid_forward(self, F: ModuleType, x: Tensor) -> Any:
        """The activation of every element."""
        return F.LeakyReLU(x, act_type="elu", slope=self._alpha)


class SELU(HybridBlock):
    """The ELU that keeps mean 0 and variance 1. Source: Klambauer et al., 2017.

    Args:
        kwargs: ``prefix`` and ``params`` of :class:`Block`.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)

    def hybrid_forward(self, F: ModuleType, x: Tensor) -> Any:
        """The activation of every element."""
        return F.LeakyReLU(x, act_type="selu", name="fwd")


class GELU(HybridBlock):
    """x · Φ(x), Φ the standard normal distribution function. Source: Hendrycks and Gimpel, 2016.

    Args:
        kwargs: ``prefix`` and ``params`` of :class:`Block`.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)

    def hybrid_forward(self, F: ModuleType, x: Tensor) -> Any:
        """The activation of every element."""
        return F.LeakyReLU(x, act_type="gelu", name="fwd")


class Swish(HybridBlock):
    """x · sigmoid(beta · x). Source: Ramachandran et al., 2017.

    Args:
        beta: factor.
        kwargs: ``prefix``, ``params``.
    """

    def __init__(self, beta: float = 1.0, **kwargs: Any):
        super().__init__(**kwargs)
        self._beta = beta

    def hybrid_forward(self, F: ModuleType, x: Tensor) -> Any:
        """The activation of every element."""
        return x * F.sigmoid(self._beta * x, name="fwd")
