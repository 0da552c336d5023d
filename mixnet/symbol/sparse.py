"""``mx.sym.sparse``: operators on sparse storage, of symbols; a graph computes on dense arrays."""

from mixnet.symbol.namespace import below

__getattr__, __dir__ = below("sparse").hooks(globals())
