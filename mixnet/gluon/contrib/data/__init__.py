"""Additional samplers and text datasets."""

from mixnet.gluon.contrib.data import sampler as sampler
from mixnet.gluon.contrib.data import text as text
from mixnet.gluon.contrib.data.sampler import IntervalSampler as IntervalSampler
from mixnet.gluon.contrib.data.sampler import SplitSampler as SplitSampler
