"""Normalization layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mixnet.dtype import dtype_name
from mixnet.gluon.block import HybridBlock, ParameterDict
from mixnet.initializer.initializer import Initializer
from mixnet.ops.schema.arguments import check_arguments
from mixnet.ops.schema.attributes import Count, NonNegative, Positive, Share

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.dtype import DTypeLike
    from mixnet.gluon.block.tensor import Tensor


class _Normalization(HybridBlock):
    """A layer with ``gamma`` and ``beta``, and its arguments in ``_kwargs``."""

    _kwargs: dict[str, Any]
    gamma: Any
    beta: Any

    def _scale_and_shift(
        self,
        extent: int,
        center: bool,
        scale: bool,
        beta_initializer: Initializer | str | None,
        gamma_initializer: Initializer | str | None,
        **options: object,
    ) -> None:
        for name, learned, init in (
            ("gamma", scale, gamma_initializer),
            ("beta", center, beta_initializer),
        ):
            if "differentiable" in options:
                options["differentiable"] = learned
            parameter = self.params.get(
                name,
                grad_req="write" if learned else "null",
                shape=(extent,),
                init=init,
                allow_deferred_init=True,
                **options,
            )
            setattr(self, name, parameter)

    def _description(self) -> str:
        return ", ".join(f"{key}={value!r}" for key, value in self._kwargs.items())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._description()}, in_channels={self.gamma.shape[0]})"


class _BatchNorm(_Normalization):
    """Normalizes every channel to mean 0 and variance 1, then applies a learned scale and shift."""

    @check_arguments
    def __init__(
        self,
        axis: int = 1,
        momentum: Share = 0.9,
        epsilon: NonNegative = 1e-5,
        center: bool = True,
        scale: bool = True,
        use_global_stats: bool = False,
        fuse_relu: bool = False,
        beta_initializer: Initializer | str | None = "zeros",
        gamma_initializer: Initializer | str | None = "ones",
        running_mean_initializer: Initializer | str | None = "zeros",
        running_variance_initializer: Initializer | str | None = "ones",
        in_channels: Count = 0,
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
        self._axis = axis
        self.fuse_relu = fuse_relu
        if in_channels != 0:
            self.in_channels = in_channels
        self._scale_and_shift(
            in_channels, center, scale, beta_initializer, gamma_initializer, differentiable=True
        )
        for name, init in (
            ("running_mean", running_mean_initializer),
            ("running_var", running_variance_initializer),
        ):
            parameter = self.params.get(
                name,
                grad_req="null",
                shape=(in_channels,),
                init=init,
                allow_deferred_init=True,
                differentiable=False,
            )
            setattr(self, name, parameter)

    def cast(self, dtype: DTypeLike) -> None:
        """Change the dtype; for float16, all parameters stay float32."""
        super().cast("float32" if dtype_name(dtype) == "float16" else dtype)

    def hybrid_forward(
        self,
        F: ModuleType,
        x: Tensor,
        gamma: Tensor,
        beta: Tensor,
        running_mean: Tensor,
        running_var: Tensor,
    ) -> Any:
        """The normalized data."""
        normalize = F.contrib.BatchNormWithReLU if self.fuse_relu else F.BatchNorm
        return normalize(x, gamma, beta, running_mean, running_var, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        channels = self.gamma.shape[0] or None
        return f"{type(self).__name__}({self._description()}, in_channels={channels})"


class _BatchNormLayer(_BatchNorm):
    """Batch normalization; whether ReLU follows is a matter of the class, not of an argument."""

    _fuse_relu = False

    @check_arguments
    def __init__(
        self,
        axis: int = 1,
        momentum: Share = 0.9,
        epsilon: NonNegative = 1e-5,
        center: bool = True,
        scale: bool = True,
        use_global_stats: bool = False,
        beta_initializer: Initializer | str | None = "zeros",
        gamma_initializer: Initializer | str | None = "ones",
        running_mean_initializer: Initializer | str | None = "zeros",
        running_variance_initializer: Initializer | str | None = "ones",
        in_channels: Count = 0,
        **kwargs: Any,
    ):
        super().__init__(
            axis,
            momentum,
            epsilon,
            center,
            scale,
            use_global_stats,
            self._fuse_relu,
            beta_initializer,
            gamma_initializer,
            running_mean_initializer,
            running_variance_initializer,
            in_channels,
            **kwargs,
        )


class BatchNorm(_BatchNormLayer):
    """Normalizes every channel to mean 0 and variance 1, then applies a learned scale and shift.

    Source: Ioffe and Szegedy, 2015.

    Args:
        axis: axis of the channels.
        momentum: fraction of the moving statistics kept in each step.
        epsilon: added to the variance.
        center: whether the shift ``beta`` is learned.
        scale: whether the scale ``gamma`` is learned.
        use_global_stats: use the moving statistics in training too.
        beta_initializer: initializer of ``beta``.
        gamma_initializer: initializer of ``gamma``.
        running_mean_initializer: initializer of the moving mean.
        running_variance_initializer: initializer of the moving variance.
        in_channels: channels; 0: inferred from the first data.
        kwargs: ``prefix``, ``params``.
    """


class BatchNormReLU(_BatchNormLayer):
    """``BatchNorm`` followed by ReLU, as one operator; arguments as for ``BatchNorm``."""

    _fuse_relu = True


class LayerNorm(_Normalization):
    """Normalizes every sample along an axis to mean 0 and variance 1.

    Source: Ba, Kiros and Hinton, 2016.

    Args:
        axis: axis of the statistics.
        epsilon: added to the variance.
        center: whether the shift ``beta`` is learned.
        scale: whether the scale ``gamma`` is learned.
        beta_initializer: initializer of ``beta``.
        gamma_initializer: initializer of ``gamma``.
        in_channels: extent of the axis; 0: inferred from the first data.
        prefix: prefix of its parameters' names.
        params: parameters to share.
    """

    @check_arguments
    def __init__(
        self,
        axis: int = -1,
        epsilon: NonNegative = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Initializer | str | None = "zeros",
        gamma_initializer: Initializer | str | None = "ones",
        in_channels: Count = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ):
        super().__init__(prefix=prefix, params=params)
        self._kwargs = {"eps": epsilon, "axis": axis, "center": center, "scale": scale}
        self._axis, self._epsilon = axis, epsilon
        self._scale_and_shift(in_channels, center, scale, beta_initializer, gamma_initializer)

    def hybrid_forward(self, F: ModuleType, data: Tensor, gamma: Tensor, beta: Tensor) -> Any:
        """The normalized data."""
        return F.LayerNorm(data, gamma=gamma, beta=beta, axis=self._axis, eps=self._epsilon)


class GroupNorm(_Normalization):
    """Normalizes groups of channels of every sample to mean 0 and variance 1.

    Source: Wu and He, 2018.

    Args:
        num_groups: groups.
        epsilon: added to the variance.
        center: whether the shift ``beta`` is learned.
        scale: whether the scale ``gamma`` is learned.
        beta_initializer: initializer of ``beta``.
        gamma_initializer: initializer of ``gamma``.
        prefix: prefix of its parameters' names.
        params: parameters to share.
    """

    @check_arguments
    def __init__(
        self,
        num_groups: Positive = 1,
        epsilon: NonNegative = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Initializer | str | None = "zeros",
        gamma_initializer: Initializer | str | None = "ones",
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ):
        super().__init__(prefix=prefix, params=params)
        self._kwargs = {"eps": epsilon, "num_groups": num_groups, "center": center, "scale": scale}
        self._num_groups, self._epsilon = num_groups, epsilon
        self._scale_and_shift(num_groups, center, scale, beta_initializer, gamma_initializer)

    def hybrid_forward(self, F: ModuleType, data: Tensor, gamma: Tensor, beta: Tensor) -> Any:
        """The normalized data."""
        return F.GroupNorm(
            data, gamma=gamma, beta=beta, num_groups=self._num_groups, eps=self._epsilon
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._description()})"


class InstanceNorm(_Normalization):
    """Normalizes every channel of every sample to mean 0 and variance 1.

    Source: Ulyanov, Vedaldi and Lempitsky, 2016.

    Args:
        axis: axis of the channels.
        epsilon: added to the variance.
        center: whether the shift ``beta`` is learned.
        scale: whether the scale ``gamma`` is learned.
        beta_initializer: initializer of ``beta``.
        gamma_initializer: initializer of ``gamma``.
        in_channels: channels; 0: inferred from the first data.
        kwargs: ``prefix``, ``params``.
    """

    @check_arguments
    def __init__(
        self,
        axis: int = 1,
        epsilon: NonNegative = 1e-5,
        center: bool = True,
        scale: bool = False,
        beta_initializer: Initializer | str | None = "zeros",
        gamma_initializer: Initializer | str | None = "ones",
        in_channels: Count = 0,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self._kwargs = {"eps": epsilon, "axis": axis, "center": center, "scale": scale}
        self._axis, self._epsilon = axis, epsilon
        self._scale_and_shift(in_channels, center, scale, beta_initializer, gamma_initializer)

    def hybrid_forward(self, F: ModuleType, x: Tensor, gamma: Tensor, beta: Tensor) -> Any:
        """The normalized data."""
        if self._axis == 1:
            return F.InstanceNorm(x, gamma, beta, name="fwd", eps=self._epsilon)
        x = x.swapaxes(1, self._axis)
        return F.InstanceNorm(x, gamma, beta, name="fwd", eps=self._epsilon).swapaxes(1, self._axis)
