"""``mx.gluon.parameter``: parameters, constants, and dictionaries of them."""

from mixnet import autograd as autograd
from mixnet import context as context
from mixnet import initializer as initializer
from mixnet import ndarray as ndarray
from mixnet import symbol as symbol
from mixnet.base import MXNetError as MXNetError
from mixnet.context import Context as Context
from mixnet.context import cpu as cpu
from mixnet.gluon.parameter.constant import Constant as Constant
from mixnet.gluon.parameter.parameter import (
    DeferredInitializationError as DeferredInitializationError,
)
from mixnet.gluon.parameter.parameter import Parameter as Parameter
from mixnet.gluon.parameter.parameter import tensor_types as tensor_types
from mixnet.gluon.parameter.parameter_dict import ParameterDict as ParameterDict
from mixnet.gluon.parameter.parameter_dict import fill as fill
from mixnet.gluon.utils import shape_is_known as shape_is_known
from mixnet.util import is_np_array as is_np_array
from mixnet.util import is_np_shape as is_np_shape

__all__ = ["Constant", "DeferredInitializationError", "Parameter", "ParameterDict", "tensor_types"]
