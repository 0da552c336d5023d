"""Files of ``mx.np`` arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mixnet.base import AttributeKindError
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.params_file import load as load_file
from mixnet.ndarray.params_file import save as save_file
from mixnet.numpy.ndarray import ndarray, share


def save(file: str, arr: NDArray | Sequence[NDArray] | Mapping[str, NDArray]) -> None:
    """Write an array, a list or a dict of arrays to a file, in MXNet's format.

    Args:
        file: path.
        arr: what to write.

    Raises:
        TypeError: something else than ``mx.np`` arrays.
    """
    every = (
        arr.values() if isinstance(arr, dict) else arr if isinstance(arr, (list, tuple)) else [arr]
    )
    for each in every:
        if not isinstance(each, ndarray):
            raise AttributeKindError(f"npx.save takes mx.np arrays, not {type(each).__name__}.")
    save_file(str(file), arr)


def load(file: str) -> Any:
    """The arrays of a file that ``save`` wrote: a list, or a dict where they have names."""
    arrays = load_file(str(file))
    if isinstance(arrays, dict):
        return {name: _as_np(each) for name, each in arrays.items()}
    return [_as_np(each) for each in arrays]


def _as_np(array: NDArray) -> Any:
    return share(array, ndarray)
