"""``mx.contrib.io``: a Gluon ``DataLoader`` as an iterator for ``Module``."""

from __future__ import annotations

from typing import Any

from mixnet import ndarray as nd  # noqa: F401
from mixnet.io import DataDesc, DataIter
from mixnet.ndarray.create import zeros


class DataLoaderIter(DataIter):
    """An iterator over the batches of a ``gluon.data.DataLoader`` of pairs (data, label).

    Args:
        loader: the loader.
        data_name: name of the data.
        label_name: name of the label.
        dtype: dtype of the batches.
    """

    def __init__(
        self,
        loader: Any,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: str = "float32",
    ):
        super().__init__()
        self._loader = loader
        self._iter = iter(loader)
        data, label = next(self._iter)
        self.batch_size = data.shape[0]
        self.dtype = dtype
        self.provide_data = [DataDesc(data_name, data.shape, dtype)]
        self.provide_label = [DataDesc(label_name, label.shape, dtype)]
        self._current_batch: Any = None
        self.reset()

    def reset(self) -> None:
        """Start again."""
        self._iter = iter(self._loader)

    def iter_next(self) -> bool:
        """Move to the next batch; false at the end."""
        self._current_batch = next(self._iter, None)
        return self._current_batch is not None

    def _padded(self, value: Any) -> Any:
        if not self.getpad():
            return value.astype(self.dtype)
        batch = zeros((self.batch_size, *value.shape[1:]), dtype=self.dtype)
        batch[: value.shape[0]] = value.astype(self.dtype)
        return batch

    def getdata(self) -> list[Any]:
        """The data of the batch; a last one that is too small is filled up with zeros."""
        return [self._padded(self._current_batch[0])]

    def getlabel(self) -> list[Any]:
        """The labels of the batch, likewise."""
        return [self._padded(self._current_batch[1])]

    def getpad(self) -> int:
        """How many samples at the end of the batch were filled up."""
        missing: int = self.batch_size - self._current_batch[0].shape[0]
        return missing

    def getindex(self) -> None:
        """Numbers of the samples; a loader does not tell."""
        return
