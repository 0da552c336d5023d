"""mx.distributed: jobs of several processes, their configuration, and the exchange of arrays."""

from __future__ import annotations

import typing

from mixnet.process.lazy import names_later as _names_later

if typing.TYPE_CHECKING:
    from mixnet.distributed.job import Job as Job
    from mixnet.distributed.job import JobError as JobError
    from mixnet.distributed.job import WorkerLostError as WorkerLostError
    from mixnet.distributed.job import find_job as find_job
    from mixnet.distributed.measuring import Measured as Measured
    from mixnet.distributed.measuring import MeasuredStep as MeasuredStep
    from mixnet.distributed.measuring import MeasureError as MeasureError
    from mixnet.distributed.measuring import measure as measure
    from mixnet.distributed.processes import World as World
    from mixnet.distributed.processes import world as world
    from mixnet.distributed.transfers import Topology as Topology
    from mixnet.distributed.transfers import Transfer as Transfer
    from mixnet.distributed.transfers import topology as topology


# A scheduler or server imports this package, and starts before NumPy and the rest of mixnet are loaded.
__getattr__, __dir__ = _names_later(
    globals(),
    {
        **dict.fromkeys(("Job", "JobError", "WorkerLostError", "find_job"), ".job:"),
        **dict.fromkeys(("World", "world"), ".processes:"),
        **dict.fromkeys(("Measured", "MeasuredStep", "MeasureError", "measure"), ".measuring:"),
        **dict.fromkeys(("Topology", "Transfer", "topology"), ".transfers:"),
    },
)
