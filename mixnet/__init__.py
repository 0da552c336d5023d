"""mixnet: MXNet's design rebuilt on JAX/XLA, with the lid off. ``import mixnet as mx``."""

import gc
import typing as _typing

from mixnet.distributed import roles as _roles

# A process in the role of a scheduler or server serves here, and ends with the job.
_roles.serve_if_asked()

if _roles.is_launcher():  # it needs nothing else of mixnet, nor JAX
    import sys

    from mixnet.tools.launch.command_line import main

    sys.exit(main())

# ruff: noqa: E402
from mixnet.process.collector import collector_paused as _collector_paused
from mixnet.process.numpy_random import numpy_generator_preserved as _numpy_generator_preserved

# What an import makes stays: collections would look at it again and again, for a fifth of the time.
with _collector_paused(), _numpy_generator_preserved():
    from mixnet import attribute as attribute
    from mixnet import autograd as autograd
    from mixnet import base as base
    from mixnet import config as _config
    from mixnet import context as context
    from mixnet import contrib as contrib
    from mixnet import distributed as distributed
    from mixnet import engine as engine
    from mixnet import initializer as init
    from mixnet import initializer as initializer
    from mixnet import libinfo as libinfo
    from mixnet import lr_scheduler as lr_scheduler
    from mixnet import name as name
    from mixnet import ndarray as nd
    from mixnet import ndarray as ndarray
    from mixnet import numpy as np
    from mixnet import numpy as numpy
    from mixnet import numpy_extension as npx
    from mixnet import numpy_extension as numpy_extension
    from mixnet import operator as operator
    from mixnet import ops as ops
    from mixnet import optimizer as optimizer
    from mixnet import random as random
    from mixnet import random as rnd
    from mixnet import registry as registry
    from mixnet import runtime as runtime
    from mixnet import symbol as sym
    from mixnet import symbol as symbol
    from mixnet import util as util
    from mixnet.attribute import AttrScope as AttrScope
    from mixnet.base import MXNetError as MXNetError
    from mixnet.context import Context as Context
    from mixnet.context import cpu as cpu
    from mixnet.context import cpu_pinned as cpu_pinned
    from mixnet.context import current_context as current_context
    from mixnet.context import gpu as gpu
    from mixnet.context import gpu_memory_info as gpu_memory_info
    from mixnet.context import num_gpus as num_gpus
    from mixnet.legacy import api as api
    from mixnet.legacy import error as error
    from mixnet.legacy import log as log
    from mixnet.legacy import paths as paths
    from mixnet.legacy.as_mxnet import as_mxnet as as_mxnet
    from mixnet.process import interpreter as _interpreter
    from mixnet.process import interrupt as _interrupt
    from mixnet.process import source as _source
    from mixnet.process.lazy import names_later as _names_later
    from mixnet.runtime import forked as _forked
    from mixnet.util import is_np_array as is_np_array
    from mixnet.util import is_np_shape as is_np_shape
    from mixnet.util import np_array as np_array
    from mixnet.util import np_shape as np_shape
    from mixnet.util import set_np_shape as set_np_shape
    from mixnet.util import use_np as use_np
    from mixnet.util import use_np_array as use_np_array
    from mixnet.util import use_np_shape as use_np_shape

# What `F.np` is in hybrid_forward.
ndarray.np, ndarray.npx = numpy, numpy_extension
ndarray.CachedOp = symbol.CachedOp
autograd.get_symbol = symbol._get_symbol
paths.install(__name__)
_interrupt.install()
_interpreter.check()
if _source.ipython_shell() is not None:
    from mixnet.process import tracebacks as _tracebacks

    _tracebacks.show_in_notebook()


if _config.get("MXNET_PROFILER_AUTOSTART"):
    from mixnet import profiler as profiler

# MXNet's, and nothing else: programs split it at the dots and make whole numbers of the parts.
__version__ = libinfo.__version__

# Later collections leave it out, too.
gc.freeze()
del gc

if _typing.TYPE_CHECKING:  # the same for editors and type checkers
    from mixnet import callback as callback
    from mixnet import export as export
    from mixnet import gluon as gluon
    from mixnet import image as image
    from mixnet import image as img
    from mixnet import io as io
    from mixnet import kvstore as kv
    from mixnet import kvstore as kvstore
    from mixnet import metric as metric
    from mixnet import model as model
    from mixnet import module as mod
    from mixnet import module as module
    from mixnet import monitor as mon
    from mixnet import monitor as monitor
    from mixnet import notebook as notebook
    from mixnet import onnx as onnx
    from mixnet import profiler as profiler
    from mixnet import recordio as recordio
    from mixnet import rnn as rnn
    from mixnet import stages as stages
    from mixnet import test_utils as test_utils
    from mixnet import visualization as visualization
    from mixnet import visualization as viz
    from mixnet import widgets as widgets
    from mixnet.legacy import executor_manager as executor_manager
    from mixnet.legacy import library as library
    from mixnet.legacy import rtc as rtc
    from mixnet.legacy import torch as th
    from mixnet.legacy import torch as torch
    from mixnet.legacy import tvmop as tvmop
    from mixnet.widgets.look import Look as look
    from mixnet.widgets.why.ask import why as why

    # Type checkers take an import by another name for a private one, unless it is listed. Star imports read
    # this list, too, but only in their eyes.
    __all__ = [
        "img", "init", "kv", "look", "mod", "mon", "nd", "np", "npx", "rnd", "sym", "th", "viz",
    ]  # fmt: skip

# What a program does not use is not loaded.
_LATER = (
    *("callback", "export", "gluon", "image", "io", "kvstore", "metric"),
    *("model", "module", "monitor", "notebook", "onnx", "profiler", "recordio", "rnn"),
    *("stages", "test_utils", "visualization", "widgets"),
)
_SHORT = {
    **{each: f"legacy.{each}" for each in ("executor_manager", "library", "rtc", "torch", "tvmop")},
    "img": "image",
    "kv": "kvstore",
    "look": "widgets.look",
    "mod": "module",
    "mon": "monitor",
    "th": "legacy.torch",
    "viz": "visualization",
    "why": "widgets.why",
}
__getattr__, __dir__ = _names_later(
    globals(),
    {**{each: f".{each}" for each in _LATER}, **{k: f".{v}" for k, v in _SHORT.items()}},
)
