"""Embedding: look up rows of a learned table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mixnet.dtype import DTypeLike, dtype_name
from mixnet.gluon.block import HybridBlock
from mixnet.initializer.initializer import Initializer
from mixnet.ops.schema.arguments import check_arguments
from mixnet.ops.schema.attributes import Positive

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from mixnet.gluon.block import Block
    from mixnet.gluon.block.tensor import Tensor


class Embedding(HybridBlock):
    """Looks up rows of a learned table by integer indices.

    Args:
        input_dim: rows.
        output_dim: extent of a row.
        dtype: dtype of the table.
        weight_initializer: initializer of the table.
        sparse_grad: the gradient holds only the rows that were read (row_sparse).
        kwargs: ``prefix``, ``params``.
    """

    @check_arguments
    def __init__(
        self,
        input_dim: Positive,
        output_dim: Positive,
        dtype: DTypeLike = "float32",
        weight_initializer: Initializer | str | None = None,
        sparse_grad: bool = False,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self._input_dim, self._output_dim = input_dim, output_dim
        self._kwargs = {
            "input_dim": input_dim,
            "output_dim": output_dim,
            "dtype": dtype_name(dtype),
            "sparse_grad": sparse_grad,
        }
        self.weight = self.params.get(
            "weight",
            shape=(input_dim, output_dim),
            init=weight_initializer,
            dtype=dtype,
            allow_deferred_init=True,
            grad_stype="row_sparse" if sparse_grad else "default",
        )

    def hybrid_forward(self, F: ModuleType, x: Tensor, weight: Tensor) -> Any:
        """The rows of the table at ``x``."""
        return F.Embedding(x, weight, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        return table_repr(self, self._kwargs)


def table_repr(block: Block, settings: Mapping[str, object]) -> str:
    """An embedding as text: its class, the shape of its table, and its dtype."""
    return (
        f"{type(block).__name__}({settings['input_dim']} -> {settings['output_dim']}, "
        f"{settings['dtype']})"
    )
