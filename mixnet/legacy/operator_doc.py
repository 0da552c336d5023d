"""The classes by which MXNet adds text to the docstrings of its operators, which have theirs here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mixnet.symbol.symbol import Symbol

__all__ = ["NDArrayDoc", "SymbolDoc"]


class NDArrayDoc:
    """Base of the classes whose docstrings are added to those of ``mx.nd``."""


class SymbolDoc:
    """Base of the classes whose docstrings are added to those of ``mx.sym``."""

    @staticmethod
    def get_output_shape(sym: Symbol, **input_shapes: Any) -> dict[str, tuple[int, ...]]:
        """Shapes of the outputs of ``sym`` by their names, from those of its arguments."""
        _, shapes, _ = sym.infer_shape(**input_shapes)
        return dict(zip(sym.list_outputs(), shapes or (), strict=False))
