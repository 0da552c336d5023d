"""``mx.sym.np.random``: the functions of ``mx.np.random`` on symbols."""

from mixnet.symbol.numpy.face import hooks as _hooks

__getattr__, __dir__ = _hooks("mixnet.numpy.random", globals())
