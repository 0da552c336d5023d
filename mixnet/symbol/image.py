"""``mx.sym.image``: image operators on symbols."""

from mixnet.symbol.namespace import below

__getattr__, __dir__ = below("image").hooks(globals())
