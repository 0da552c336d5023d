"""``mx.gluon.block``: blocks, hybrid blocks, and blocks around symbols."""

from mixnet import initializer as initializer
from mixnet import ndarray as ndarray
from mixnet import symbol as symbol
from mixnet.base import MXNetError as MXNetError
from mixnet.gluon.block.block import Block as Block
from mixnet.gluon.block.hybrid import HybridBlock as HybridBlock
from mixnet.gluon.block.nested import _flatten as _flatten
from mixnet.gluon.block.nested import _regroup as _regroup
from mixnet.gluon.block.scope import _BlockScope as _BlockScope
from mixnet.gluon.block.symbol_block import SymbolBlock as SymbolBlock
from mixnet.gluon.block.symbol_block import _common_prefix as _common_prefix
from mixnet.gluon.parameter import DeferredInitializationError as DeferredInitializationError
from mixnet.gluon.parameter import Parameter as Parameter
from mixnet.gluon.parameter import ParameterDict as ParameterDict
from mixnet.gluon.utils import HookHandle as HookHandle
from mixnet.gluon.utils import _brief_print_list as _brief_print_list
from mixnet.gluon.utils import _indent as _indent
from mixnet.ndarray import NDArray as NDArray
from mixnet.symbol import Symbol as Symbol
from mixnet.symbol import load_json as load_json
from mixnet.symbol import numpy as np_symbol
from mixnet.util import is_np_array as is_np_array
from mixnet.util import np_array as np_array
from mixnet.util import np_shape as np_shape

__all__ = ["Block", "HybridBlock", "SymbolBlock"]
