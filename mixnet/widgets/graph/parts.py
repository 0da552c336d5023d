"""The parts of a network that its backend computes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mixnet.gluon.block import HybridBlock
from mixnet.process.locks import cached_property
from mixnet.symbol.backend import parts_of, spelled_out
from mixnet.symbol.symbol import Symbol
from mixnet.units import how_many


@dataclass(frozen=True)
class Parts:
    """How the backend of a network cuts its graph.

    Args:
        backend: its name, empty where XLA computes everything.
        symbol: the network's, with the nodes of each part in a scope of the part.
        of: the part of each node that the backend computes, by the node's name in the network.
        arrays: parameters that parts hold, by their names in ``symbol``.
        total: operations of the network.
    """

    backend: str
    symbol: Symbol
    of: dict[str, str] = field(default_factory=dict)
    arrays: dict[str, Any] = field(default_factory=dict)
    total: int = 0

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of the parts."""
        return frozenset(self.of.values())

    def split(self, name: str) -> tuple[str, str]:
        """The part and the name in the network of a node of ``symbol``; no part for what XLA computes."""
        part, _, rest = name.partition("/")
        return (part, rest) if rest and part in self.names else ("", name)

    def device(self, name: str, device: str) -> str:
        """Where a node runs, by its name in the network: its backend, and the device."""
        if not self.backend:
            return device
        computes = self.backend if name in self.of else "XLA"
        return f"{computes}, {device}" if device else computes

    def note(self) -> str:
        """Notes for the reader; empty without a backend."""
        if not self.backend:
            return ""
        if not self.of:
            return f"{self.backend} computes none of the operations: XLA does."
        count, boxes = len(self.of), len(self.names)
        rest = "" if count == self.total else f"; XLA computes the other {self.total - count}"
        share = f"{count} of {how_many(self.total, 'operation')}"
        return f"Predictions: {self.backend} computes {share}, in {how_many(boxes, 'part')}{rest}."


def parts_of_block(block: HybridBlock, symbol: Symbol, train: bool) -> Parts:
    """The parts of a block, whose graph is a symbol; none when it trains, which is XLA's.

    Raises:
        MXNetError: the backend is not installed.
    """
    backend, options = block._backend()
    if train or backend is None:
        return Parts("", symbol)
    parameters = {each.name: each for each in block.collect_params().values()}
    arrays = {}
    if all(each._shape is not None and each._data for each in parameters.values()):
        arrays = {name: each.list_data()[0] for name, each in parameters.items()}
    optimized = symbol.optimize_for(backend, arrays, **options)
    total = sum(node.op is not None for node in symbol.graph.nodes)
    spelled, stored = spelled_out(optimized)
    return Parts(backend, spelled, parts_of(optimized), stored, total)
