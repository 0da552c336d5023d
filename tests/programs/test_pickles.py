"""Pickles that name classes by MXNet's paths."""

from __future__ import annotations

import pickle

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


def test_mxnets_pickles_of_arrays_and_states(as_a_program: None) -> None:
    """Those of a trainer's states and of arrays name MXNet's classes, with None for a handle."""
    dense = mx.nd.array([[1.0, 2], [3, 4]])
    arrays = {
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
