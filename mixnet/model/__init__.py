"""``mx.model``: checkpoints, parameter updates, and FeedForward."""

# What `import *` brings beside mixnet's own names, as MXNet's module does.
import logging as logging
import os as os
import time as time
import warnings as warnings
from collections import namedtuple as namedtuple

import numpy as np

from mixnet import io as io
from mixnet import kvstore as kvs
from mixnet import metric as metric
from mixnet import ndarray as nd
from mixnet import optimizer as opt
from mixnet import symbol as sym
from mixnet.base import mx_real_t as mx_real_t
from mixnet.callback import LogValidationMetricsCallback as LogValidationMetricsCallback
from mixnet.checkpoint import load_checkpoint as load_checkpoint
from mixnet.checkpoint import load_params as load_params
from mixnet.checkpoint import save_checkpoint as save_checkpoint
from mixnet.context import Context as Context
from mixnet.context import cpu as cpu
from mixnet.initializer import Uniform as Uniform
from mixnet.io import DataDesc as DataDesc
from mixnet.legacy.executor_manager import (
    DataParallelExecutorManager as DataParallelExecutorManager,
)
from mixnet.legacy.executor_manager import _check_arguments as _check_arguments
from mixnet.legacy.executor_manager import _load_data as _load_data
from mixnet.legacy.executor_manager import _load_label as _load_label
from mixnet.model.batch_end import BatchEndParam as BatchEndParam
from mixnet.model.batch_end import BatchEndParams as BatchEndParams
from mixnet.model.feed_forward import BASE_ESTIMATOR as BASE_ESTIMATOR
from mixnet.model.feed_forward import SKLEARN_INSTALLED as SKLEARN_INSTALLED
from mixnet.model.feed_forward import FeedForward as FeedForward
from mixnet.model.feed_forward import _train_multi_device as _train_multi_device
from mixnet.model.update import _create_kvstore as _create_kvstore
from mixnet.model.update import _create_sparse_kvstore as _create_sparse_kvstore
from mixnet.model.update import _initialize_kvstore as _initialize_kvstore
from mixnet.model.update import _update_params as _update_params
from mixnet.model.update import _update_params_on_kvstore as _update_params_on_kvstore
from mixnet.optimizer import get_updater as get_updater
from mixnet.process.lazy import star_names as _star_names

__all__ = _star_names(globals())
