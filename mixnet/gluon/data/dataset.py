"""Datasets: samples by number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mixnet.base import ShapeError
from mixnet.ndarray.ndarray import NDArray


class Dataset:
    """Base of datasets: override ``__getitem__`` and ``__len__``."""

    def __getitem__(self, idx: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define __getitem__.")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} does not define __len__.")

    def transform(self, fn: Callable[..., Any], lazy: bool = True) -> Dataset:
        """A dataset of ``fn(*sample)``; computed when asked for if ``lazy``, else now."""
        made = _Transformed(self, fn)
        return made if lazy else SimpleDataset([made[i] for i in range(len(made))])

    def transform_first(self, fn: Callable[..., Any], lazy: bool = True) -> Dataset:
        """A dataset whose samples have ``fn`` of their first part."""
        return self.transform(lambda first, *rest: (fn(first), *rest) if rest else fn(first), lazy)

    def take(self, count: int | None) -> Dataset:
        """The first ``count`` samples, all for None."""
        size = len(self) if count is None else min(count, len(self))
        return SimpleDataset([self[i] for i in range(size)])


class SimpleDataset(Dataset):
    """A list as a dataset.

    Args:
        data: anything with ``len`` and indexing.
    """

    def __init__(self, data: Any):
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: int) -> Any:
        return self._data[idx]


class _Transformed(Dataset):
    def __init__(self, data: Dataset, fn: Callable[..., Any]):
        self._data, self._fn = data, fn

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: int) -> Any:
        sample = self._data[idx]
        return self._fn(*sample) if isinstance(sample, tuple) else self._fn(sample)


class ArrayDataset(Dataset):
    """Samples made of the rows of several arrays.

    Args:
        args: arrays, NumPy arrays, lists or datasets of one length.

    Raises:
        ShapeError: their lengths differ.
    """

    def __init__(self, *args: Any):
        if not args:
            raise ShapeError("ArrayDataset takes at least one array.")
        self._length = len(args[0])
        self._data: list[Any] = []
        for i, each in enumerate(args):
            if len(each) != self._length:
                raise ShapeError(
                    f"ArrayDataset: array 0 has {self._length} samples, array {i} has {len(each)}."
                )
            # One copy to the host here is cheaper than one for each sample later.
            flat = isinstance(each, NDArray) and each.ndim == 1
            self._data.append(each.asnumpy() if flat else each)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, idx: int) -> Any:
        if len(self._data) == 1:
            return self._data[0][idx]
        return tuple(each[idx] for each in self._data)

    def rows(self, indices: list[int]) -> list[Any] | None:
        """Several samples at once as NumPy arrays; None if a part is no array."""
        found = []
        for each in self._data:
            if isinstance(each, NDArray):
                found.append(each.asnumpy()[indices])
            elif hasattr(each, "dtype") and hasattr(each, "shape"):
                found.append(each[indices])
            else:
                return None
        return found
