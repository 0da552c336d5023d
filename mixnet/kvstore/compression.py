"""Gradient compression: quantized gradients, with the residual added to the next one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from mixnet.base import AttributeValueError, DTypeError, MXNetError
from mixnet.kvstore.power_sgd import PowerSGD
from mixnet.ops.schema.over_devices import AXIS
from mixnet.runtime.devices.collective import gather
from mixnet.runtime.value.value import Spec

if TYPE_CHECKING:
    from mixnet.kvstore.local import Key

_PER_WORD = 16
# The first of four values is in the top bits of a byte, the first byte in the lowest bits of a word.
_SHIFTS = np.array([8 * (k // 4) + 6 - 2 * (k % 4) for k in range(_PER_WORD)], np.uint32)
_PLUS, _MINUS = 3, 2
_BIT_SHIFTS = np.array([8 * (k // 8) + 7 - k % 8 for k in range(32)], np.uint32)
_HALVES = {"fp16": "float16", "bf16": "bfloat16"}


def _unpacked(words: Any, shifts: np.ndarray, mask: int, shape: Sequence[int]) -> Any:
    """The codes in ``words``, one for each element of an array of this shape."""
    codes = (words[:, None] >> shifts) & mask
    return codes.ravel()[: int(np.prod(shape, dtype=np.int64))]


@dataclass(frozen=True)
class TwoBit:
    """Every value is sent as ``+threshold``, ``-threshold`` or 0; the error is stored in the residual.

    Args:
        threshold: above 0.
    """

    threshold: float

    def encode(self, gradient: jax.Array, residual: jax.Array) -> tuple[Any, Any]:
        """Words of 16 values each, and the new residual.

        Args:
            gradient: of any shape.
            residual: the part not sent yet, of the same shape.

        Returns:
            uint32 ``(ceil(size / 16),)``, and the residual. Two bits per value: 11 is ``+threshold``,
            10 ``-threshold``, 00 nothing.
        """
        total = residual + gradient
        threshold = jnp.asarray(self.threshold, total.dtype)
        up, down = total >= threshold, total <= -threshold
        rest = total - jnp.where(up, threshold, jnp.where(down, -threshold, 0))
        codes = jnp.where(up, _PLUS, jnp.where(down, _MINUS, 0)).astype(jnp.uint32).ravel()
        codes = jnp.pad(codes, (0, -codes.size % _PER_WORD)).reshape(-1, _PER_WORD)
        return jnp.sum(codes << _SHIFTS, axis=1, dtype=jnp.uint32), rest

    def decode(self, words: Any, shape: Sequence[int], dtype: Any) -> Any:
        """Decode ``words`` to values of a shape."""
        codes = _unpacked(words, _SHIFTS, 3, shape)
        threshold = jnp.asarray(self.threshold, dtype)
        values = jnp.where(codes == _PLUS, threshold, jnp.where(codes == _MINUS, -threshold, 0))
        return values.reshape(tuple(shape))

    def __call__(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """The computation of a device in an exchange: see ``_exchanged``."""
        return _exchanged(self, arrays)


@dataclass(frozen=True)
class OneBit:
    """Every value is sent as +1 if it is above ``threshold``, otherwise as -1; the residual stores the error.

    Args:
        threshold: any number.
    """

    threshold: float

    def encode(self, gradient: jax.Array, residual: jax.Array) -> tuple[Any, Any]:
        """Words of 32 values each, and the new residual.

        Args:
            gradient: of any shape.
            residual: the part not sent yet, of the same shape.

        Returns:
            uint32 ``(ceil(size / 32),)``, and the residual. The first of eight values is in the top
            bit of a byte; 1 is +1, 0 is -1.
        """
        total = residual + gradient
        up = total > jnp.asarray(self.threshold, total.dtype)
        rest = total - jnp.where(up, 1, -1).astype(total.dtype)
        bits = up.astype(jnp.uint32).ravel()
        bits = jnp.pad(bits, (0, -bits.size % 32)).reshape(-1, 32)
        return jnp.sum(bits << _BIT_SHIFTS, axis=1, dtype=jnp.uint32), rest

    def decode(self, words: Any, shape: Sequence[int], dtype: Any) -> Any:
        """Decode ``words`` to values of a shape."""
        bits = _unpacked(words, _BIT_SHIFTS, 1, shape)
        return jnp.where(bits == 1, 1, -1).astype(dtype).reshape(tuple(shape))

    def __call__(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """The computation of a device in an exchange: see ``_exchanged``."""
        return _exchanged(self, arrays)


@dataclass(frozen=True)
class Half:
    """Values are sent and summed in half precision; the rounding error is stored in the residual.

    Args:
        dtype: ``float16`` or ``bfloat16``.
    """

    dtype: str

    def encode(self, gradient: jax.Array, residual: jax.Array) -> tuple[Any, Any]:
        """The data to send, of the shape of ``gradient``, and the new residual."""
        total = gradient + residual
        sent = total.astype(self.dtype)
        return sent, total - sent.astype(total.dtype)

    def decode(self, sent: Any, shape: Sequence[int], dtype: Any) -> Any:
        """The values that were sent, in their own dtype."""
        return sent.astype(dtype)

    def __call__(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """The computation of a device in an exchange: gradients and residuals in, sums and residuals out."""
        half = len(arrays) // 2
        packed, residuals = [], []
        for gradient, residual in zip(arrays[:half], arrays[half:], strict=True):
            sent, rest = self.encode(gradient, residual)
            residuals.append(rest)
            packed.append(self.decode(jax.lax.psum(sent, AXIS), gradient.shape, gradient.dtype))
        return (*packed, *residuals)


OfEachValue = TwoBit | OneBit | Half
"""Compressions that treat each value by itself, so that several arrays may travel as one."""

Compression = OfEachValue | PowerSGD


def state_shapes(
    compression: Compression, shape: Sequence[int]
) -> tuple[tuple[int, ...], ...] | None:
    """Shapes of the state that a compression stores per array, the residual first; None: no compression."""
    return compression.state_shapes(shape) if isinstance(compression, PowerSGD) else (tuple(shape),)


def _exchanged(compression: TwoBit | OneBit, arrays: Sequence[Any]) -> tuple[Any, ...]:
    """The computation of a device in an exchange: gradients and residuals in, sums and residuals out.

    Only words are sent. Each device adds the contributions of all, in rank order.
    """
    half = len(arrays) // 2
    sums, residuals = [], []
    for gradient, residual in zip(arrays[:half], arrays[half:], strict=True):
        words, rest = compression.encode(gradient, residual)
        everyone = gather(words)
        total = compression.decode(everyone[0], gradient.shape, gradient.dtype)
        for rank in range(1, everyone.shape[0]):
            total = total + compression.decode(everyone[rank], gradient.shape, gradient.dtype)
        sums.append(total)
        residuals.append(rest)
    return (*sums, *residuals)


def check_compressible(key: Key | Sequence[Key], spec: Spec) -> None:
    """Whether the gradient of a key can be compressed.

    Raises:
        DTypeError: it holds no floating-point numbers.
    """
    if spec.dtype.kind != "f":
        raise DTypeError(
            f"Gradient compression takes floating-point gradients; that of key {key} is {spec.dtype.name}."
        )


def compression(parameters: Mapping[str, Any]) -> Compression:
    """The compression that ``{'type': '2bit', 'threshold': 0.5}`` asks for.

    Raises:
        MXNetError: the type is missing or unknown, or the threshold or the rank is invalid.
    """
    kind = parameters.get("type")
    if kind is None:
        raise MXNetError("Gradient compression needs a type: {'type': '2bit', 'threshold': 0.5}.")
    if kind in _HALVES:
        return Half(_HALVES[kind])
    if kind == "powersgd":
        rank = parameters.get("rank", 4)
        if isinstance(rank, bool) or not str(rank).isdigit() or int(rank) < 1:
            raise AttributeValueError(
                f"rank={rank!r}: PowerSGD takes a whole number of columns from 1, such as "
                f"{{'type': 'powersgd', 'rank': 4}}."
            )
        return PowerSGD(int(rank))
    threshold = _number(parameters.get("threshold", 0.5))
    if kind == "1bit":
        return OneBit(threshold)
    if kind != "2bit":
        raise AttributeValueError(
            f"Unknown type for gradient compression {kind}; use {{'type': '2bit'}}, '1bit', 'fp16', 'bf16' "
            f"or 'powersgd'."
        )
    if not threshold > 0:
        raise AttributeValueError(f"threshold={threshold:g}: threshold must be greater than 0.")
    return TwoBit(threshold)


def _number(threshold: Any) -> float:
    try:
        return float(threshold)
    except (TypeError, ValueError):
        raise AttributeValueError(
            f"threshold={threshold!r} is not a number; give {{'type': '2bit', 'threshold': 0.5}}."
        ) from None
