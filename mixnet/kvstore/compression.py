"""2-bit gradients: what a device sends of its gradient, and the residual that it keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from mixnet.base import AttributeValueError, MXNetError
from mixnet.runtime.collective import gather

_PER_WORD = 16
# The first of four values stands in the top bits of a byte, the first byte in the lowest of a word.
_SHIFTS = np.array([8 * (k // 4) + 6 - 2 * (k % 4) for k in range(_PER_WORD)], np.uint32)
_PLUS, _MINUS = 3, 2


@dataclass(frozen=True)
class TwoBit:
    """Every value is sent as ``+threshold``, ``-threshold`` or 0; the rest waits in the residual.

    Args:
        threshold: above 0.
    """

    threshold: float

    def encode(self, gradient: Any, residual: Any) -> tuple[Any, Any]:
        """Words of 16 values each, and the new residual.

        Args:
            gradient: of any shape.
            residual: what was not sent yet, of that shape.

        Returns:
            uint32 ``(ceil(size / 16),)``, and the residual. Two bits a value: 11 is ``+threshold``,
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
        """The values that ``words`` stand for, in a shape."""
        codes = ((words[:, None] >> _SHIFTS) & 3).ravel()[: int(np.prod(shape, dtype=np.int64))]
        threshold = jnp.asarray(self.threshold, dtype)
        values = jnp.where(codes == _PLUS, threshold, jnp.where(codes == _MINUS, -threshold, 0))
        return values.reshape(tuple(shape))

    def __call__(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """What a device does in an exchange: gradients and residuals in, sums and residuals out.

        Only words travel. Each device adds what all of them sent, in the order of their ranks.
        """
        half = len(arrays) // 2
        sums, residuals = [], []
        for gradient, residual in zip(arrays[:half], arrays[half:], strict=True):
            words, rest = self.encode(gradient, residual)
            everyone = gather(words)
            total = self.decode(everyone[0], gradient.shape, gradient.dtype)
            for rank in range(1, everyone.shape[0]):
                total = total + self.decode(everyone[rank], gradient.shape, gradient.dtype)
            sums.append(total)
            residuals.append(rest)
        return (*sums, *residuals)


def compression(parameters: Mapping[str, Any]) -> TwoBit:
    """The compression that ``{'type': '2bit', 'threshold': 0.5}`` asks for.

    Raises:
        MXNetError: the type is missing or unknown, or the threshold is not above 0.
    """
    kind = parameters.get("type")
    if kind is None:
        raise MXNetError("Gradient compression needs a type: {'type': '2bit', 'threshold': 0.5}.")
    if kind != "2bit":
        raise AttributeValueError(
            f"Unknown type for gradient compression {kind}; take {{'type': '2bit'}}."
        )
    threshold = float(parameters.get("threshold", 0.5))
    if not threshold > 0:
        raise AttributeValueError(f"threshold={threshold:g}: threshold must be greater than 0.")
    return TwoBit(threshold)
