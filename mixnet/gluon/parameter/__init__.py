"""``mx.gluon.parameter``: parameters, constants, and dictionaries of them."""

from mixnet.gluon.parameter.constant import Constant as Constant
from mixnet.gluon.parameter.parameter import (
    DeferredInitializationError as DeferredInitializationError,
)
from mixnet.gluon.parameter.parameter import Parameter as Parameter
from mixnet.gluon.parameter.parameter import tensor_types as tensor_types
from mixnet.gluon.parameter.parameter_dict import ParameterDict as ParameterDict
from mixnet.gluon.parameter.parameter_dict import fill as fill
