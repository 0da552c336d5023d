"""``mx.sym.op``: every public operator, on symbols."""

from mixnet.symbol.namespace import below

__getattr__, __dir__ = below("op").hooks(globals())
