"""The backend ``MKLDNN_QUANTIZE``: the layers that oneDNN fuses, before and after their quantization."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mixnet.contrib.quantization.graph import folded
from mixnet.passes.fuse_layers import fuse_layers
from mixnet.symbol.backend import Backend
from mixnet.symbol.symbol import Symbol


class FusedLayers(Backend):
    """Fuses layers with what follows them; in a calibrated symbol, they round their sums themselves.

    Programs written for MXNet call it before and after ``quantize_model``.
    """

    def optimize(
        self, symbol: Symbol, arrays: Mapping[str, Any], options: dict[str, Any]
    ) -> Symbol:
        """The symbol with fused layers; it predicts, and has no gradient any more."""
        return folded(type(symbol)(fuse_layers(symbol.graph).heads))
