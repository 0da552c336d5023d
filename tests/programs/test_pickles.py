"""Pickles that name classes by MXNet's paths."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import mixnet as mx
from mixnet.optimizer import state_file


def test_a_pickle_that_names_mxnets_paths(as_a_program: None) -> None:
    originals = [
        mx.metric.Accuracy(),
        mx.init.Xavier(magnitude=2),
        mx.lr_scheduler.FactorScheduler(3),
    ]
    for each, module in zip(originals, ("metric", "initializer", "lr_scheduler"), strict=True):
        # protocol 0 writes names as lines of text
        text = pickle.dumps(each, 0).replace(
            type(each).__module__.encode(), b"mxnet." + module.encode()
        )
        assert type(pickle.loads(text)) is type(each)


class AsMXNetPickles:
    """Pickles as an object of ``cls`` whose handle comes with its state."""

    def __init__(self, cls: type, handle: object):
        self.cls, self.handle = cls, handle

    def __reduce__(self) -> tuple[Any, ...]:
        return self.cls, (None,), {"handle": self.handle}


def test_mxnets_pickles_of_symbols() -> None:
    net = mx.sym.FullyConnected(mx.sym.var("q"), num_hidden=3, name="f")
    read = pickle.loads(pickle.dumps(AsMXNetPickles(mx.sym.Symbol, net.tojson())))
    assert type(read) is mx.sym.Symbol
    assert read.list_arguments() == ["q", "f_weight", "f_bias"]
    assert read.infer_shape(q=(2, 4))[1] == [(2, 3)]


@pytest.mark.parametrize("stype", ["row_sparse", "csr"])
def test_sparse_arrays_that_mxnet_wrote_before_it_had_computed_them(stype: str) -> None:
    """MXNet writes how many values there are before it waits for them: 0 of them here."""
    array: Any = mx.nd.array([[0.0, 2.0], [3.0, 4.0]]).tostype(stype)
    content = bytearray(array._to_bytes())
    stored = array.data.shape
    start = 8 + 4  # magic, storage type and number of axes
    assert content[start : start + 8] == stored[0].to_bytes(8, "little")
    content[start : start + 8] = bytes(8)
    read = pickle.loads(pickle.dumps(AsMXNetPickles(type(array), content)))
    assert read.stype == stype
    assert read.asnumpy().tolist() == [[0, 2], [3, 4]]


def test_mxnets_pickles_of_arrays_and_states(as_a_program: None) -> None:
    """Those of a trainer's states and of arrays name MXNet's classes, with None for a handle."""
    dense = mx.nd.array([[1.0, 2.0], [3.0, 4.0]])
    arrays: dict[str, Any] = {
        "dense": dense,
        "half": dense.astype("float16"),
        "numpy": mx.np.array([1.0, 2]),
        "rows": dense.tostype("row_sparse"),
        "csr": dense.tostype("csr"),
    }
    states = state_file.dumps({0: (dense, dense), 1: arrays})
    assert b"mxnet.ndarray.ndarray" in states
    read = pickle.loads(states)
    assert read[0][0].asnumpy().tolist() == [[1, 2], [3, 4]]
    for name, array in arrays.items():
        assert type(read[1][name]) is type(array)
        assert (read[1][name].asnumpy() == array.asnumpy()).all()
        assert read[1][name].dtype == array.dtype


def test_an_array_that_unpickling_has_not_filled() -> None:
    for read in (lambda x: x.asnumpy(), lambda x: x.shape, lambda x: x + 1):
        with pytest.raises(mx.MXNetError, match="has no content"):
            read(mx.nd.NDArray(None))
