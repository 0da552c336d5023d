"""Fast transfer of NumPy arrays to a device, a few microseconds each.

``jax.device_put`` searches trees for arrays first, which takes ten times as long as a small transfer. The
function that it finally calls is private JAX; only this module uses it.
"""

from __future__ import annotations

import sys
import weakref
from typing import Any

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding

from mixnet.private_jax.arrays import batched_put
from mixnet.runtime.value.value import ALIGNMENT, Spec

_layouts: weakref.WeakKeyDictionary[Spec, tuple[Any, Any, list[Any]]] = weakref.WeakKeyDictionary()


def to_device(data: np.ndarray, spec: Spec) -> Any:
    """A JAX array from data that will not be modified; views of other memory are copied.

    Args:
        data: of the shape and dtype of the spec.
        spec: gives the device.
    """
    if type(data) is not np.ndarray:  # NumPy makes numbers of arrays without axes
        data = np.asarray(data)
    elif (data.base is not None and not _is_all_of_its_base(data)) or not data.flags.c_contiguous:
        data = np.array(data, order="C")
    return handed_over(data, spec)


def handed_over(data: np.ndarray, spec: Spec) -> Any:
    """A JAX array that takes ownership of memory; a host device uses it without a copy if it is aligned.

    Args:
        data: contiguous, of the shape and dtype of the spec.
        spec: gives the device.
    """
    if _device_put is None:
        return jax.device_put(data, spec.context.device)
    layout = _layouts.get(spec)
    if layout is None:
        device = spec.context.device
        aval = jax.core.ShapedArray(spec.shape, spec.dtype)
        layout = _layouts[spec] = (aval, SingleDeviceSharding(device), [device])
    aval, sharding, devices = layout
    return _device_put(aval, sharding, [data], devices)


def _references_to_base(data: np.ndarray) -> int:
    return sys.getrefcount(data.base)


_REFERENCES = _references_to_base(np.empty(2).reshape(2, 1))
"""References to memory with a single view; the count differs between versions of Python."""


def _is_all_of_its_base(data: np.ndarray) -> bool:
    """Whether an array is the only view of its memory in another shape, such as a reshape of a new array,
    or what :func:`mixnet.runtime.value.value.aligned_empty` returns.
    """
    return (
        type(data.base) is np.ndarray
        and data.base.base is None
        and data.base.nbytes <= data.nbytes + ALIGNMENT
        and _references_to_base(data) == _REFERENCES
    )


_device_put = batched_put()
