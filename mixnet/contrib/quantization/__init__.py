"""``mx.contrib.quantization``: convert float networks to 8-bit integers."""

# What `import *` brings beside mixnet's own names, as MXNet's module does.
import logging as logging
import os as os
import shutil as shutil
import warnings as warnings

import numpy as np

from mixnet import ndarray as ndarray
from mixnet.context import Context as Context
from mixnet.context import cpu as cpu
from mixnet.contrib.quantization.collect import LayerHistogramCollector as LayerHistogramCollector
from mixnet.contrib.quantization.collect import LayerHistogramCollector as _LayerHistogramCollector
from mixnet.contrib.quantization.collect import LayerOutputCollector as LayerOutputCollector
from mixnet.contrib.quantization.collect import (
    LayerOutputMinMaxCollector as LayerOutputMinMaxCollector,
)
from mixnet.contrib.quantization.collect import (
    LayerOutputMinMaxCollector as _LayerOutputMinMaxCollector,
)
from mixnet.contrib.quantization.collect import combine_histogram as combine_histogram
from mixnet.contrib.quantization.graph import calib_graph as calib_graph
from mixnet.contrib.quantization.graph import quantize_graph as quantize_graph
from mixnet.contrib.quantization.model import quantize_model as quantize_model
from mixnet.contrib.quantization.model import quantize_model_mkldnn as quantize_model_mkldnn
from mixnet.contrib.quantization.net import quantize_net as quantize_net
from mixnet.contrib.quantization.net import quantize_net_v2 as quantize_net_v2
from mixnet.contrib.quantization.thresholds import optimal_threshold as _get_optimal_threshold
from mixnet.contrib.quantization.thresholds import optimal_thresholds as _get_optimal_thresholds
from mixnet.contrib.quantization.weights import quantize_weights as quantize_weights
from mixnet.io import DataBatch as DataBatch
from mixnet.io import DataDesc as DataDesc
from mixnet.io import DataIter as DataIter
from mixnet.module import Module as Module
from mixnet.ndarray import NDArray as NDArray
from mixnet.ndarray import load as nd_load
from mixnet.ndarray import save as nd_save
from mixnet.process.lazy import names_later as _names_later
from mixnet.process.lazy import star_names as _star_names
from mixnet.symbol import Symbol as Symbol
from mixnet.symbol import load as sym_load

__getattr__, __dir__ = _names_later(globals(), {"stats": "scipy.stats"})

__all__ = [*_star_names(globals(), ("ndarray",)), "stats"]
