"""``mx.look(net, x, y)``: source, graph, memory, engine, what runs, and numbers, linked to each other."""

import sys
import types
from typing import Any

from mixnet.widgets.look.view import Look as Look


class _Called(types.ModuleType):
    """The package is called as its view: ``mx.look(net, x)``."""

    def __call__(self, *arguments: Any, **keywords: Any) -> Look:
        return Look(*arguments, **keywords)


sys.modules[__name__].__class__ = _Called
