"""``mx.sym.np.linalg``: the functions of ``mx.np.linalg`` on symbols."""

from mixnet.symbol.numpy.face import hooks as _hooks

__getattr__, __dir__ = _hooks("mixnet.numpy.linalg", globals())
