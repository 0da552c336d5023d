"""``mx.sym.npx.random``: the functions of ``mx.npx.random`` on symbols."""

from mixnet.symbol.numpy.face import hooks as _hooks

__getattr__, __dir__ = _hooks("mixnet.numpy_extension.random", globals())
