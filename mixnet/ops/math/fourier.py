"""Fourier transforms along the last axis, and count sketch."""

from __future__ import annotations

import jax.numpy as jnp

from mixnet.base import RankError, ShapeError
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Positive


@op("_contrib_fft", floats=True, precision="full")
def fft(data, *, compute_size: Positive = 128):
    """The Fourier transform along the last axis, real and imaginary parts in turn.

    Args:
        data: real, ``(..., d)``, of two or four axes.
        compute_size: accepted and ignored.

    Returns:
        ``(..., 2 * d)``.

    Raises:
        ShapeError: data have another number of axes.

    Source: MXNet operator ``_contrib_fft``.
    """
    _two_or_four("_contrib_fft", data.shape)
    # XLA transforms single and double precision.
    wide = data if data.dtype == jnp.float64 else data.astype(jnp.float32)
    spectrum = jnp.fft.fft(wide, axis=-1)
    pairs = jnp.stack([spectrum.real, spectrum.imag], -1)
    return pairs.reshape(*data.shape[:-1], -1).astype(data.dtype)


@op("_contrib_ifft", floats=True)
def ifft(data, *, compute_size: Positive = 128):
    """The real part of the opposite of ``_contrib_fft``, not divided by the number of elements.

    Args:
        data: real and imaginary parts in turn, ``(..., 2 * d)``, of two or four axes.
        compute_size: accepted and ignored.

    Returns:
        ``(..., d)``.

    Raises:
        ShapeError: data have another number of axes, or an odd last one.

    Source: MXNet operator ``_contrib_ifft``.
    """
    _two_or_four("_contrib_ifft", data.shape)
    if data.shape[-1] % 2:
        raise ShapeError(f"_contrib_ifft: the last axis of data {data.shape} must be even: pairs.")
    wide = data if data.dtype == jnp.float64 else data.astype(jnp.float32)
    pairs = wide.reshape(*data.shape[:-1], -1, 2)
    values = jnp.fft.ifft(pairs[..., 0] + 1j * pairs[..., 1], axis=-1, norm="forward")
    return values.real.astype(data.dtype)


def _two_or_four(operator: str, shape: tuple[int, ...]) -> None:
    if len(shape) not in (2, 4):
        raise RankError(f"{operator}: data {shape} must have two or four axes.")


@op("_contrib_count_sketch", floats=True, precision="full")
def count_sketch(data, h, s, *, out_dim: Positive, processing_batch_size: Positive = 32):
    """Every element, with its sign, added to one of ``out_dim`` places.

    Args:
        data: ``(n, d)``, or of four axes with the last of ``d``.
        h: the place of each of the ``d`` elements, ``(1, d)``.
        s: their signs, 1 or -1, ``(1, d)``.
        out_dim: number of places.
        processing_batch_size: accepted and ignored.

    Returns:
        ``(n, out_dim)``; ``data``'s leading axes for four of them.

    Raises:
        ShapeError: ``h`` or ``s`` does not have ``d`` elements.

    Source: MXNet operator ``_contrib_count_sketch``.
    """
    width = data.shape[-1]
    if h.size != width or s.size != width:
        raise ShapeError(
            f"_contrib_count_sketch: data {data.shape} need h and s of (1, {width}), not "
            f"{h.shape} and {s.shape}."
        )
    signed = data * s.reshape(-1)
    out = jnp.zeros((*data.shape[:-1], out_dim), data.dtype)
    return out.at[..., h.reshape(-1).astype(jnp.int32)].add(signed)
