"""Update rules of ``mx.sym.contrib`` whose loss scale may be a number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mixnet.ndarray.adamw import adamw_function
from mixnet.ops.registry import find
from mixnet.symbol.compose import make_function
from mixnet.symbol.create import full
from mixnet.symbol.symbol import Symbol


def _scale(rescale_grad: Any, weight: Symbol) -> Symbol:
    """The loss scale as a symbol."""
    return rescale_grad if isinstance(rescale_grad, Symbol) else full((1,), rescale_grad)


def _call(op: str, symbols: Sequence[Symbol], attributes: dict[str, Any]) -> Symbol:
    del attributes["out"]
    return make_function(find(op), op)(*symbols, **attributes)


adamw_update = adamw_function("_adamw_update", _scale, _call, __name__)
mp_adamw_update = adamw_function("_mp_adamw_update", _scale, _call, __name__)
