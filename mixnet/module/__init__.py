"""``mx.mod``: modules, which train and predict with symbols."""

from mixnet.module import base_module as base_module
from mixnet.module import bucketing_module as bucketing_module
from mixnet.module import executor_group as executor_group
from mixnet.module import module as module
from mixnet.module import python_module as python_module
from mixnet.module import sequential_module as sequential_module
from mixnet.module.base_module import BaseModule as BaseModule
from mixnet.module.bucketing_module import BucketingModule as BucketingModule
from mixnet.module.module import Module as Module
from mixnet.module.python_module import PythonLossModule as PythonLossModule
from mixnet.module.python_module import PythonModule as PythonModule
from mixnet.module.sequential_module import SequentialModule as SequentialModule
from mixnet.process.lazy import star_names as _star_names

__all__ = _star_names(
    globals(),
    (
        "base_module",
        "bucketing_module",
        "executor_group",
        "module",
        "python_module",
        "sequential_module",
    ),
)
