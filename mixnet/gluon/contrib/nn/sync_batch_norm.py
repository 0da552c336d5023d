"""Batch normalization with statistics over the batches of several devices."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from mixnet.gluon.nn.normalization import BatchNorm
from mixnet.util import get_gpu_count

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.gluon.block.tensor import Tensor
    from mixnet.initializer.initializer import Initializer


class SyncBatchNorm(BatchNorm):
    """``BatchNorm`` for a batch split over devices, with the statistics of the whole batch.

    In training, each device's results are available once all devices have called the layer: call the
    network with the parts on all devices, then read them. In prediction, devices are independent. In
    a hybridized network, the parts before, between and after such layers are separate programs.

    Args:
        in_channels: channels; 0: inferred from the first data.
        num_devices: number of devices that take part; by default all GPUs.
        momentum: fraction of the moving statistics kept in each step.
        epsilon: added to the variance.
        center: whether the shift ``beta`` is learned.
        scale: whether the scale ``gamma`` is learned.
        use_global_stats: use the moving statistics in training too.
        beta_initializer: initializer of ``beta``.
        gamma_initializer: initializer of ``gamma``.
        running_mean_initializer: initializer of the moving mean.
        running_variance_initializer: initializer of the moving variance.
        kwargs: ``prefix``, ``params``.
    """

    def __init__(
        self,
        in_channels: int = 0,
        num_devices: int | None = None,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        use_global_stats: bool = False,
        beta_initializer: Initializer | str | None = "zeros",
        gamma_initializer: Initializer | str | None = "ones",
        running_mean_initializer: Initializer | str | None = "zeros",
        running_variance_initializer: Initializer | str | None = "ones",
        **kwargs: Any,
    ):
        super().__init__(
            1,
            momentum,
            epsilon,
            center,
            scale,
            use_global_stats,
            beta_initializer,
            gamma_initializer,
            running_mean_initializer,
            running_variance_initializer,
            in_channels,
            **kwargs,
        )
        if num_devices is None:
            warnings.warn(
                "SyncBatchNorm assumes all GPUs; pass num_devices if fewer train.", stacklevel=2
            )
            num_devices = max(get_gpu_count(), 1)
        self._kwargs = {
            "eps": epsilon,
            "momentum": momentum,
            "fix_gamma": not scale,
            "use_global_stats": use_global_stats,
            "ndev": num_devices,
            "key": self.prefix,
        }

    def hybrid_forward(
        self,
        F: ModuleType,
        x: Tensor,
        gamma: Tensor,
        beta: Tensor,
        running_mean: Tensor,
        running_var: Tensor,
    ) -> Any:
        """The normalized data.

        Args:
            x: ``(batch, channels, ...)``.
            running_mean: the moving mean, ``(channels,)``.
            running_var: the moving variance, ``(channels,)``.
        """
        return F.contrib.SyncBatchNorm(
            x, gamma, beta, running_mean, running_var, name="fwd", **self._kwargs
        )
