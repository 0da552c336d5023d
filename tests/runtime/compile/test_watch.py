"""When the warning about many compiled programs appears."""

from __future__ import annotations

import warnings

import pytest

import mixnet as mx
from mixnet import nd
from mixnet.base import CompileWarning
from mixnet.runtime.compile import watch as compile_watch

pytestmark = pytest.mark.usefixtures("compiling_at_once")


@pytest.fixture
def low_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile_watch, "_limit", 5)
    compile_watch.reset()


def read(array: nd.NDArray) -> None:
    (array * 2 - 0.5).asnumpy()


def test_the_same_program_on_several_devices_causes_no_warning(low_limit: None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for size in (1001, 1002):
            for device in range(4):
                read(nd.ones((size,), ctx=mx.cpu(device)))


def test_a_new_shape_in_each_call_causes_a_warning(low_limit: None) -> None:
    with pytest.warns(CompileWarning, match=r"gets shapes \(2005,\) instead of \(2004,\)"):
        for size in range(2001, 2006):
            array = nd.array([1.0] * size, ctx=mx.cpu(1))
            array.wait_to_read()
            read(array)
