"""mx.distributed: jobs of several processes, their configuration, and the exchange of arrays."""

from __future__ import annotations

import importlib
import typing

from mixnet.distributed.job import Job as Job
from mixnet.distributed.job import JobError as JobError
from mixnet.distributed.job import WorkerLostError as WorkerLostError
from mixnet.distributed.job import find_job as find_job

if typing.TYPE_CHECKING:
    from mixnet.distributed.measuring import Measured as Measured
    from mixnet.distributed.measuring import MeasuredStep as MeasuredStep
    from mixnet.distributed.measuring import MeasureError as MeasureError
    from mixnet.distributed.measuring import measure as measure
    from mixnet.distributed.processes import World as World
    from mixnet.distributed.processes import world as world
    from mixnet.distributed.transfers import Topology as Topology
    from mixnet.distributed.transfers import Transfer as Transfer
    from mixnet.distributed.transfers import topology as topology


# A scheduler imports this package, and starts before the rest of mixnet is loaded.
_LATER = {
    "World": "processes",
    "world": "processes",
    "Measured": "measuring",
    "MeasuredStep": "measuring",
    "MeasureError": "measuring",
    "measure": "measuring",
    "Topology": "transfers",
    "Transfer": "transfers",
    "topology": "transfers",
}


def __getattr__(name: str) -> typing.Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
