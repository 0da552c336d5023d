"""Activation layers."""

from __future__ import annotations

from typing import Any

from mixnet.gluon.hybrid import HybridBlock


class Activation(HybridBlock):
    """An activation function by name.

    Args:
        activation: ``relu``, ``sigmoid``, ``tanh``, ``softrelu`` or ``softsign``.
    """

    def __init__(self, activation: str, **kwargs: Any):
        self._act_type = activation
        super().__init__(**kwargs)

    def _alias(self) -> str:
        return self._act_type

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """The function of every element."""
        return F.Activation(x, act_type=self._act_type, name="fwd")

    def __repr__(self) -> str:
        return f"Activation({self._act_type})"
