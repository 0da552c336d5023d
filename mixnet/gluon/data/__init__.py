"""Datasets, samplers and loaders."""

from mixnet.gluon.data import dataloader as dataloader
from mixnet.gluon.data import dataset as dataset
from mixnet.gluon.data import sampler as sampler
from mixnet.gluon.data import vision as vision
from mixnet.gluon.data.dataloader import DataLoader as DataLoader
from mixnet.gluon.data.dataset import ArrayDataset as ArrayDataset
from mixnet.gluon.data.dataset import Dataset as Dataset
from mixnet.gluon.data.dataset import RecordFileDataset as RecordFileDataset
from mixnet.gluon.data.dataset import SimpleDataset as SimpleDataset
from mixnet.gluon.data.sampler import BatchSampler as BatchSampler
from mixnet.gluon.data.sampler import FilterSampler as FilterSampler
from mixnet.gluon.data.sampler import RandomSampler as RandomSampler
from mixnet.gluon.data.sampler import Sampler as Sampler
from mixnet.gluon.data.sampler import SequentialSampler as SequentialSampler
from mixnet.process.lazy import star_names as _star_names

__all__ = _star_names(globals(), ("dataloader", "dataset", "sampler", "vision"))
