"""``mx.why(thing)``: why something is the way it is, answered from what the runtime has recorded."""

import sys
from typing import Any

from mixnet.process.lazy import CustomModule
from mixnet.widgets.why.question import Answer as Answer


class _Called(CustomModule):
    """Makes the package callable: ``mx.why(net)``."""

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        from mixnet.widgets.why.ask import why  # it knows the views, which have answers themselves

        return why(*arguments, **keywords)


sys.modules[__name__].__class__ = _Called
