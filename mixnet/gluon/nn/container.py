"""Sequential containers."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mixnet.base import AttributeTypeError, IndexingError
from mixnet.gluon.block import Block, HybridBlock
from mixnet.gluon.block.block import indented
from mixnet.gluon.nn.function import Lambda

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.gluon.block.tensor import Tensor


class _Row:
    """The base of both sequences: adding, counting, indexing."""

    _children: Any
    _mx_is_layer = False

    def add(self, *blocks: object) -> None:
        """Append blocks."""
        for each in blocks:
            self.register_child(each)  # type: ignore[attr-defined]

    def __len__(self) -> int:
        return len(self._children)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._children.values())

    def __getitem__(self, key: Any) -> Any:
        blocks = list(self._children.values())
        try:
            selected = blocks[key]
        except TypeError:
            raise AttributeTypeError(
                f"{type(self).__name__} is indexed by the number of a block or a slice, not {key!r}."
            ) from None
        except IndexError:
            raise IndexingError(
                f"{type(self).__name__} has {len(blocks)} block(s); {key!r} is not one of their numbers."
            ) from None
        if not isinstance(key, slice):
            return selected
        row = type(self)(prefix=self._prefix)  # type: ignore[attr-defined, call-arg]
        with row.name_scope():  # type: ignore[attr-defined]
            row.add(*selected)
        return row

    def __repr__(self) -> str:
        rows = [f"  ({name}): {indented(repr(each))}" for name, each in self._children.items()]
        return f"{type(self).__name__}(\n" + "\n".join(rows) + "\n)"


def _as_block(child: object) -> Any:
    """``child``, as a block if it is a function."""
    return Lambda(child) if callable(child) and not isinstance(child, (Block, type)) else child


class Sequential(_Row, Block):
    """Blocks in sequence: each works on the output of the previous one.

    Args:
        prefix: prefix of its parameters' names.
        params: parameters to share.
        unknown: any other argument is an error.
    """

    def add(self, *blocks: object) -> None:
        """Append blocks, or functions of an array."""
        super().add(*map(_as_block, blocks))

    def forward(self, x: Tensor) -> Any:
        """Call the blocks in sequence."""
        for block in self._children.values():
            x = block(x)
        return x

    def hybridize(self, active: bool = True, **kwargs: object) -> None:
        """Hybridize all hybridizable children.

        Args:
            active: False to run them as imperative code again.
            kwargs: see ``HybridBlock.hybridize``.
        """
        if self._children and all(isinstance(c, HybridBlock) for c in self._children.values()):
            warnings.warn(
                f"All children of this Sequential layer ('{self.prefix}') are HybridBlocks: as a "
                f"HybridSequential it would run as one graph.",
                stacklevel=2,
            )
        super().hybridize(active, **kwargs)


class HybridSequential(_Row, HybridBlock):
    """Hybrid blocks in sequence: each works on the output of the previous one.

    Args:
        prefix: prefix of its parameters' names.
        params: parameters to share.
        unknown: any other argument is an error.
    """

    def hybrid_forward(self, F: ModuleType, x: Tensor) -> Any:
        """Call the blocks in sequence."""
        for block in self._children.values():
            x = block(x)
        return x
