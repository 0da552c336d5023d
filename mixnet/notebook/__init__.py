"""``mx.notebook``: callbacks that collect training metrics for notebooks."""

from mixnet.process.lazy import submodules as _submodules


class Bokeh_Failed_To_Import:
    """Stands where MXNet has the package bokeh."""


bokeh = Bokeh_Failed_To_Import

__getattr__, __dir__ = _submodules(__name__, {"callback": ".callback"}, globals())
