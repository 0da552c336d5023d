"""``mx.init``: initial values of parameters, chosen by parameter name or given explicitly."""

# What `import *` brings beside mixnet's own names, as MXNet's module does.
import json as json
import logging as logging
import re as re
import typing as _typing
import warnings as warnings
from math import sqrt as sqrt

import numpy as np

from mixnet import ndarray as ndarray
from mixnet import random as random
from mixnet import registry as registry
from mixnet.base import string_types as string_types
from mixnet.initializer.by_name import Load as Load
from mixnet.initializer.by_name import Mixed as Mixed
from mixnet.initializer.constant import Bilinear as Bilinear
from mixnet.initializer.constant import Constant as Constant
from mixnet.initializer.constant import LSTMBias as LSTMBias
from mixnet.initializer.constant import One as One
from mixnet.initializer.constant import Zero as Zero
from mixnet.initializer.fused_rnn import FusedRNN as FusedRNN
from mixnet.initializer.initializer import InitDesc as InitDesc
from mixnet.initializer.initializer import Initializer as Initializer
from mixnet.initializer.initializer import alias as alias
from mixnet.initializer.initializer import create as create
from mixnet.initializer.initializer import register as register
from mixnet.initializer.random_numbers import MSRAPrelu as MSRAPrelu
from mixnet.initializer.random_numbers import Normal as Normal
from mixnet.initializer.random_numbers import Orthogonal as Orthogonal
from mixnet.initializer.random_numbers import Uniform as Uniform
from mixnet.initializer.random_numbers import Xavier as Xavier
from mixnet.ndarray import NDArray as NDArray
from mixnet.ndarray import load as load
from mixnet.process.lazy import names_later as _names_later
from mixnet.process.lazy import star_names as _star_names
from mixnet.util import is_np_array as is_np_array

__all__ = _star_names(globals())

if not _typing.TYPE_CHECKING:  # the error of a name that is misspelt names the nearest one
    __getattr__, __dir__ = _names_later(globals(), {})
