"""``mx.sym.sparse``: operators with sparse storage on symbols."""

from mixnet.symbol.namespace import below

__getattr__, __dir__ = below("sparse").hooks(globals())
