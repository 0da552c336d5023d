"""``mx.notebook``: callbacks that collect training metrics for notebooks."""

from mixnet.process.lazy import names_later as _names_later


class Bokeh_Failed_To_Import:
    """Stands where MXNet has the package bokeh."""


bokeh = Bokeh_Failed_To_Import

__getattr__, __dir__ = _names_later(globals(), {"callback": ".callback"})
