"""Samplers and texts beside ``mx.gluon.data``."""

from mixnet.gluon.contrib.data.sampler import IntervalSampler as IntervalSampler
