"""mx.distributed: jobs of several processes, what they are told, and how they exchange arrays."""

from __future__ import annotations

import typing

from mixnet.distributed.job import Job as Job
from mixnet.distributed.job import JobError as JobError
from mixnet.distributed.job import WorkerLostError as WorkerLostError
from mixnet.distributed.job import find_job as find_job

if typing.TYPE_CHECKING:
    from mixnet.distributed.processes import World as World
    from mixnet.distributed.processes import world as world


def __getattr__(name: str) -> typing.Any:
    # A scheduler imports this package, and starts before the rest of mixnet is loaded.
    if name in ("World", "world"):
        from mixnet.distributed import processes

        return getattr(processes, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), "World", "world"})
