"""``mx.gluon.block``: blocks, hybrid blocks, and blocks around symbols."""

from mixnet.gluon.block.block import Block as Block
from mixnet.gluon.block.hybrid import HybridBlock as HybridBlock
from mixnet.gluon.block.nested import _flatten as _flatten
from mixnet.gluon.block.nested import _regroup as _regroup
from mixnet.gluon.block.scope import _BlockScope as _BlockScope
from mixnet.gluon.block.symbol_block import SymbolBlock as SymbolBlock
from mixnet.gluon.parameter import DeferredInitializationError as DeferredInitializationError
from mixnet.gluon.parameter import Parameter as Parameter
from mixnet.gluon.parameter import ParameterDict as ParameterDict
from mixnet.gluon.utils import HookHandle as HookHandle
