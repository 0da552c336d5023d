"""``mx.sym.sparse``: operators with sparse storage on symbols; a graph computes on dense arrays."""

from mixnet.symbol.namespace import below

__getattr__, __dir__ = below("sparse").hooks(globals())
