"""``mx.look(net, x, y)``: source, graph, memory, engine, what runs, and numbers, linked to each other."""

import sys
from typing import Any

from mixnet.process.lazy import CustomModule
from mixnet.widgets.look.view import Look as Look


class _Called(CustomModule):
    """The package is called as its view: ``mx.look(net, x)``."""

    def __call__(self, *arguments: Any, **keywords: Any) -> Look:
        return Look(*arguments, **keywords)


sys.modules[__name__].__class__ = _Called
