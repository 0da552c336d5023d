"""Values with data of the host."""

from __future__ import annotations

import numpy as np

import mixnet as mx
from mixnet.ndarray.ndarray import NDArray
from mixnet.runtime.devices.host_value import HostValue, on_host
from mixnet.runtime.interpret.patience import compiling_at_once


def test_data_stay_on_the_host_until_a_program_needs_them() -> None:
    value = on_host(np.array([1, 2**40]), mx.cpu())
    assert isinstance(value, HostValue)
    array = NDArray._wrap(value)
    assert array.asnumpy().tolist() == [1, 2**40]
    assert value.host_array is not None
    with compiling_at_once():
        assert (array + 1).asnumpy().tolist() == [2, 2**40 + 1]
    assert value.host_array is None
    assert array.asnumpy().tolist() == [1, 2**40]
