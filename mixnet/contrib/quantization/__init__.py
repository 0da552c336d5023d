"""``mx.contrib.quantization``: convert float networks to 8-bit integers."""

from mixnet.contrib.quantization.collect import LayerHistogramCollector as LayerHistogramCollector
from mixnet.contrib.quantization.collect import LayerOutputCollector as LayerOutputCollector
from mixnet.contrib.quantization.collect import (
    LayerOutputMinMaxCollector as LayerOutputMinMaxCollector,
)
from mixnet.contrib.quantization.collect import combine_histogram as combine_histogram
from mixnet.contrib.quantization.graph import calib_graph as calib_graph
from mixnet.contrib.quantization.graph import quantize_graph as quantize_graph
from mixnet.contrib.quantization.model import quantize_model as quantize_model
from mixnet.contrib.quantization.model import quantize_model_mkldnn as quantize_model_mkldnn
from mixnet.contrib.quantization.net import quantize_net as quantize_net
from mixnet.contrib.quantization.net import quantize_net_v2 as quantize_net_v2
from mixnet.contrib.quantization.weights import quantize_weights as quantize_weights
from mixnet.process.lazy import submodules

__getattr__, __dir__ = submodules(__name__, {"stats": "scipy.stats"}, globals())
