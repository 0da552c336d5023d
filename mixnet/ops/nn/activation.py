"""Activation functions."""

from __future__ import annotations

from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from mixnet.ops.generators import source
from mixnet.ops.math.elementwise import relu
from mixnet.ops.math.unary import half_in_single, soft_sign
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Axes, Share
from mixnet.ops.schema.integer_layers import Fusion, Quantization, is_relu
from mixnet.ops.schema.rewrites import Rewrites
from mixnet.ops.schema.shape_constraints import same_as_first
from mixnet.private_jax.derivatives import CustomJVP

_ACTIVATIONS: dict[str, Any] = {
    "relu": relu,
    "sigmoid": half_in_single(jax.nn.sigmoid),
    "tanh": half_in_single(jnp.tanh),
    "softrelu": half_in_single(jax.nn.softplus),
    "softsign": half_in_single(soft_sign),
}


@op(
    "Activation",
    floats=True,
    rewrites=Rewrites(keeps_dtype=True),
    shape_constraint=same_as_first,
    activation=lambda *, act_type: act_type,
    fusion=Fusion("activation", is_relu),
    quantization=Quantization("_contrib_quantized_act", fits=is_relu),
    full_where={"act_type": ["softrelu"]},
    aliases=["_npx_activation"],
    family="activation",
)
def activation(data, *, act_type: Literal["relu", "sigmoid", "softrelu", "softsign", "tanh"]):
    """The activation function ``act_type`` of each element.

    Source: MXNet operator ``Activation``.
    """
    return _ACTIVATIONS[act_type](data)


_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


def _below(data: jax.Array, is_above: jax.Array) -> Any:
    """exp(data) - 1 where ``is_above`` is false; there without overflow and with its derivative."""
    return jnp.expm1(jnp.where(is_above, 0, data))


@CustomJVP
def _gelu(x: jax.Array) -> Any:
    return jax.nn.gelu(x, approximate=False)


@_gelu.defjvp
def _(primals, tangents):
    # The slope as one factor: an infinite gradient times the 0 of one term would be NaN.
    (x,), (dx,) = primals, tangents
    density = jnp.exp(-0.5 * x * x) * np.asarray(1 / np.sqrt(2 * np.pi), x.dtype)
    return _gelu(x), (jax.scipy.stats.norm.cdf(x) + x * density) * dx


def _leaky_draws(act_type: str, training: bool) -> bool:
    return act_type == "rrelu" and training


def _leaky_arguments(act_type: str) -> tuple[str, ...]:
    return ("data", "gamma") if act_type == "prelu" else ("data",)


@op(
    "LeakyReLU",
    floats=True,
    arguments=_leaky_arguments,
    draws=_leaky_draws,
    initializers={"gamma": '["Constant", {"value": 0.25}]'},
    shape_constraint=same_as_first,
    fusion=Fusion("activation", lambda *, act_type: act_type in ("leaky", "gelu")),
    full_where={"act_type": ["elu", "selu"]},
    aliases=["_npx_leaky_relu"],
    family="activation",
)
def leaky_relu(
    data,
    gamma=None,
    *,
    act_type: Literal["elu", "gelu", "leaky", "prelu", "rrelu", "selu"] = "leaky",
    slope: float = 0.25,
    lower_bound: float = 0.125,
    upper_bound: float = 0.334,
    key,
    training,
):
    """Functions that are the identity above 0 and small below it.

    Args:
        data: float, channels on axis 1.
        gamma: learned slope of ``prelu``, ``(channels,)`` or ``(1,)``.

    Source: MXNet operator ``LeakyReLU``.
    """
    is_above = jnp.logical_not(data <= 0)  # with NaN, where the derivative is 1
    if act_type == "elu":
        return jnp.where(is_above, data, slope * _below(data, is_above))
    if act_type == "selu":
        below = _SELU_ALPHA * _below(data, data > 0)  # the derivative at NaN is NaN
        return _SELU_SCALE * jnp.where(data > 0, data, below)
    if act_type == "gelu":
        return half_in_single(_gelu)(data)
    if act_type == "prelu":
        if gamma.ndim == 1 and data.ndim > 1:
            gamma = gamma.reshape((1, -1, *(1,) * (data.ndim - 2)))
        return jnp.where(data > 0, data, gamma * data)
    if act_type == "rrelu":
        middle = (lower_bound + upper_bound) / 2
        if training:
            below = jax.random.uniform(key, data.shape, data.dtype, lower_bound, upper_bound)
            return jnp.where(data > 0, data, below * data)
        slope = middle
    return jnp.where(is_above, data, slope * data)


@leaky_relu.infer_inputs
def _(data, gamma, *, act_type):
    if act_type != "prelu" or gamma == (1,):  # one slope for all channels
        return {}
    return {"gamma": (data[1] if len(data) > 1 else 1,)}


def _drops(p: float, mode: str, training: bool) -> bool:
    return p != 0 and (training or mode == "always")


@op(
    "Dropout",
    floats=True,
    draws=_drops,
    draws_as_mxnet=True,
    recomputed="never",
    rewrites=Rewrites(
        unchanged=lambda *, p, mode, training: not _drops(p, mode, training), keeps_dtype=True
    ),
    shape_constraint=same_as_first,
    aliases=["_npx_dropout"],
)
def dropout(
    data,
    *,
    p: Share = 0.5,
    mode: Literal["always", "training"] = "training",
    axes: Axes | None = (),
    cudnn_off: bool | None = False,
    key,
    training,
):
    """In training, set elements to 0 with probability ``p`` and scale the others by ``1 / (1 - p)``.

    With ``axes``, elements that differ only in their position on these axes are dropped together.

    Source: MXNet operator ``Dropout``.
    """
    if not _drops(p, mode, training):
        return data
    shared = {axis % data.ndim for axis in axes or ()}
    shape = tuple(1 if i in shared else n for i, n in enumerate(data.shape))
    if source.is_drawn_by_host(key):
        # MXNet draws float32 for float32 only.
        kind = np.dtype(np.float32 if data.dtype == np.float32 else np.float64)
        mask = source.uniform(key, shape, kind, shared=True) <= kind.type(1 - p)
    else:
        mask = jax.random.bernoulli(key, 1 - p, shape)
    return jnp.where(mask, data / (1 - p), 0).astype(data.dtype)
