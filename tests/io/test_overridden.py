"""Iterators with overridden methods, which are called as in MXNet 1.9.1."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

import mixnet as mx
from mixnet import nd

DATA = np.arange(12, dtype="float32").reshape(4, 3)


def test_an_iterator_is_reset_when_it_is_made() -> None:
    class Counting(mx.io.NDArrayIter):
        def reset(self):
            super().reset()
            self.batches = 0

        def next(self):
            self.batches += 1
            return super().next()

    iterator = Counting(DATA, None, 2)
    assert len(list(iterator)) == 2 and iterator.batches == 3


def test_an_overridden_getdata_of_a_resized_iterator_is_used() -> None:
    class Doubled(mx.io.ResizeIter):
        def getdata(self):
            return [2 * each for each in super().getdata()]

    batches = list(Doubled(mx.io.NDArrayIter(DATA, None, 2), 3))
    sums = [batch.data[0].sum().asscalar() for batch in batches]
    assert sums == [30, 102, 30]


def test_the_metric_reads_labels_before_the_iterator_refills_them() -> None:
    class Refilling(mx.io.DataIter):
        """Gives the same arrays again and again, with other contents."""

        provide_data: ClassVar = [mx.io.DataDesc("data", (2, 3))]
        provide_label: ClassVar = [mx.io.DataDesc("softmax_label", (2,))]

        def __init__(self):
            super().__init__(2)
            self.arrays = nd.zeros((2, 3)), nd.zeros((2,))
            self.reset()

        def reset(self):
            self.number = 0

        def next(self):
            if self.number == 4:
                raise StopIteration
            self.arrays[1][:] = self.number
            self.number += 1
            return mx.io.DataBatch([self.arrays[0]], [self.arrays[1]], pad=0)

    labels: list[float] = []

    def note(label, pred):
        labels.append(float(label[0]))
        return 0.0

    data = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="fc")
    module = mx.mod.Module(mx.sym.SoftmaxOutput(data, name="softmax"))
    module.fit(Refilling(), eval_metric=mx.metric.np(note), num_epoch=1)
    assert labels == [0, 1, 2, 3]
