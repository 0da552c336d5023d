"""Normalization layers."""

from __future__ import annotations

from typing import Any

from mixnet.dtype import as_dtype
from mixnet.gluon.hybrid import HybridBlock
from mixnet.gluon.nn.dense import initializer


class BatchNorm(HybridBlock):
    """Every channel shifted and scaled to mean 0 and variance 1, then by learned numbers.

    Source: Ioffe and Szegedy, 2015.

    Args:
        axis: axis of the channels.
        momentum: share of the moving statistics that stays at each step.
        epsilon: added to the variance.
        center: whether the shift ``beta`` is learned.
        scale: whether the scale ``gamma`` is learned.
        use_global_stats: use the moving statistics in training too.
        in_channels: channels; 0 follows from the first data.
    """

    def __init__(
        self,
        axis: int = 1,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        use_global_stats: bool = False,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        running_mean_initializer: Any = "zeros",
        running_variance_initializer: Any = "ones",
        in_channels: int = 0,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self._kwargs = {
            "axis": axis,
            "eps": epsilon,
            "momentum": momentum,
            "fix_gamma": not scale,
            "use_global_stats": use_global_stats,
        }
        shape = (in_channels,)

        def get(name: str, init: Any, learned: bool, state: bool = False) -> Any:
            return self.params.get(
                name,
                grad_req="write" if learned else "null",
                shape=shape,
                init=initializer(init),
                allow_deferred_init=True,
                differentiable=learned or not state,
            )

        self.gamma = get("gamma", gamma_initializer, scale)
        self.beta = get("beta", beta_initializer, center)
        self.running_mean = get("running_mean", running_mean_initializer, False, True)
        self.running_var = get("running_var", running_variance_initializer, False, True)

    def cast(self, dtype: Any) -> None:
        """Change the dtype; statistics stay float32 for float16."""
        super().cast("float32" if as_dtype(dtype).name == "float16" else dtype)

    def hybrid_forward(
        self, F: Any, x: Any, gamma: Any, beta: Any, running_mean: Any, running_var: Any
    ) -> Any:
        """The normalized data."""
        return F.BatchNorm(x, gamma, beta, running_mean, running_var, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        channels = self.gamma.shape[0]
        given = ", ".join(f"{k}={v}" for k, v in self._kwargs.items())
        return f"BatchNorm({given}, in_channels={channels if channels else None})"
