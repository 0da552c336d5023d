"""``mx.stages(...)``: every stage from a line of Python to the instructions of the compiled program."""

import sys
from typing import Any

from mixnet.process.lazy import CustomModule
from mixnet.stages.stages import Stages as Stages
from mixnet.stages.stages import stages as stages


class _Called(CustomModule):
    """The package is called as its function: it is imported when it is first asked for, by whatever name."""

    def __call__(self, *arguments: Any, **keywords: Any) -> Stages:
        return stages(*arguments, **keywords)


sys.modules[__name__].__class__ = _Called
