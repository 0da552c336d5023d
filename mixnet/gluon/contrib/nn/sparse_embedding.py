"""SparseEmbedding: an embedding table of which each batch pulls only the rows that it reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mixnet import ndarray as nd
from mixnet.dtype import dtype_name
from mixnet.gluon.block import Block
from mixnet.gluon.nn.embedding import table_repr

if TYPE_CHECKING:
    from mixnet.dtype import DTypeLike
    from mixnet.initializer.initializer import Initializer
    from mixnet.ndarray.ndarray import NDArray


class SparseEmbedding(Block):
    """Looks up rows of a learned table by integer indices; table and gradient are row_sparse.

    A Trainer with a kvstore holds the table; each forward pulls the rows that it reads.

    Args:
        input_dim: rows.
        output_dim: extent of a row.
        dtype: dtype of the table.
        weight_initializer: initializer of the table.
        kwargs: ``prefix``, ``params``.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        dtype: DTypeLike = "float32",
        weight_initializer: Initializer | str | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self._kwargs = {
            "input_dim": input_dim,
            "output_dim": output_dim,
            "dtype": dtype_name(dtype),
            "sparse_grad": True,
        }
        self.weight = self.params.get(
            "weight",
            shape=(input_dim, output_dim),
            init=weight_initializer,
            dtype=dtype,
            grad_stype="row_sparse",
            stype="row_sparse",
        )

    def forward(self, x: NDArray) -> Any:
        """The rows of the table at ``x``."""
        weight = self.weight.row_sparse_data(x)
        return nd.Embedding(x, weight, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        return table_repr(self, self._kwargs)
