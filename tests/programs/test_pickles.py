"""Pickles that name classes by MXNet's paths."""

from __future__ import annotations

import pickle

import mixnet as mx


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
