"""``mx.sym.npx``: the operators of ``mx.npx`` on symbols."""

from mixnet.symbol.numpy_extension import image as image
from mixnet.symbol.numpy_extension import random as random
from mixnet.symbol.numpy_extension.namespace import OPERATORS as _OPERATORS

__getattr__, __dir__ = _OPERATORS.hooks(globals(), ("image", "random"))
