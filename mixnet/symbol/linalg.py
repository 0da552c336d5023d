"""``mx.sym.linalg``: linear algebra on the last two axes of symbols."""

from mixnet.symbol.namespace import below

__getattr__, __dir__ = below("linalg").hooks(globals())
