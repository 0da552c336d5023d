"""Where HybridBlock and SymbolBlock are found too."""

from mixnet.gluon.block.hybrid import HybridBlock as HybridBlock
from mixnet.gluon.block.symbol_block import SymbolBlock as SymbolBlock
