"""The output of iterators: batches, and descriptions of their arrays."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mixnet.base import CheckError, mx_real_t

if TYPE_CHECKING:
    import numpy as np

    from mixnet.dtype import DTypeLike
    from mixnet.ndarray.ndarray import NDArray


class DataDesc(namedtuple("DataDesc", ["name", "shape"])):
    """Name, shape, dtype and layout of one array of a batch; equal to the pair (name, shape).

    Args:
        name: of the symbol's variable.
        shape: with the batch axis.
        dtype: of the elements.
        layout: one letter per axis, ``N`` the batch axis.
    """

    dtype: Any
    layout: Any

    def __new__(
        cls, name: Any, shape: Any, dtype: DTypeLike = mx_real_t, layout: Any = "NCHW"
    ) -> DataDesc:
        desc = super().__new__(cls, name, shape)
        desc.dtype = dtype
        desc.layout = layout
        return desc

    def __repr__(self) -> str:
        return f"DataDesc[{self.name},{self.shape},{self.dtype},{self.layout}]"

    @staticmethod
    def get_batch_axis(layout: str | None) -> int:
        """The position of ``N`` in a layout; 0 without a layout."""
        return 0 if layout is None else layout.find("N")

    @staticmethod
    def get_list(
        shapes: Sequence[tuple[str, tuple[int, ...]]], types: Sequence[tuple[str, DTypeLike]] | None
    ) -> list[DataDesc]:
        """Descriptions from pairs of names and shapes.

        Args:
            shapes: ``[(name, shape), ...]``.
            types: ``[(name, dtype), ...]``, or None for float32.
        """
        if types is None:
            return [DataDesc(*each) for each in shapes]
        known = dict(types)
        return [DataDesc(name, shape, known[name]) for name, shape in shapes]


class DataBatch:
    """One batch of data.

    Args:
        data: list of arrays.
        label: list of arrays.
        pad: number of samples at the end that only fill up the batch.
        index: indices of the samples.
        bucket_key: which bucket it belongs to, for modules with buckets.
        provide_data: descriptions of the data, where they change from batch to batch.
        provide_label: descriptions of the labels.

    Raises:
        AssertionError: data or label is not a list or tuple.
    """

    def __init__(
        self,
        data: Sequence[NDArray] | None,
        label: Sequence[NDArray] | None = None,
        pad: int | None = None,
        index: np.ndarray | Sequence[int] | None = None,
        bucket_key: Any = None,
        provide_data: Sequence[DataDesc | tuple[Any, ...]] | None = None,
        provide_label: Sequence[DataDesc | tuple[Any, ...]] | None = None,
    ):
        for name, arrays in (("Data", data), ("Label", label)):
            if arrays is not None and not isinstance(arrays, (list, tuple)):
                raise CheckError(
                    f"{name} must be list of NDArrays, not {type(arrays).__name__}; put it into a list."
                )
        self.data = data
        self.label = label
        self.pad = pad
        self.index = index
        self.bucket_key = bucket_key
        self.provide_data: Any = provide_data
        self.provide_label: Any = provide_label

    def __str__(self) -> str:
        shapes = [each.shape for each in self.data or ()]
        labels = [each.shape for each in self.label] if self.label else None
        return f"{type(self).__name__}: data shapes: {shapes} label shapes: {labels}"
