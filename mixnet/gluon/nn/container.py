"""Blocks in a row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mixnet.gluon.block import Block
from mixnet.gluon.hybrid import HybridBlock


class _Row:
    """What both sequences share: adding, counting, picking."""

    _children: Any

    def add(self, *blocks: Any) -> None:
        """Append blocks."""
        for each in blocks:
            self.register_child(each)  # type: ignore[attr-defined]

    def __len__(self) -> int:
        return len(self._children)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._children.values())

    def __getitem__(self, key: Any) -> Any:
        found = list(self._children.values())[key]
        if not isinstance(key, slice):
            return found
        row = type(self)(prefix=self._prefix)  # type: ignore[attr-defined, call-arg]
        row.add(*found)
        return row

    def forward(self, x: Any, *args: Any) -> Any:
        """Every block on the output of the one before."""
        for block in self._children.values():
            x = block(x, *args)
            args = ()
            if isinstance(x, (tuple, list)):
                x, *args = x  # type: ignore[assignment]
        return (x, *args) if args else x


class Sequential(_Row, Block):
    """Blocks in a row: each works on the output of the one before."""


class HybridSequential(_Row, HybridBlock):
    """Hybrid blocks in a row: each works on the output of the one before."""
