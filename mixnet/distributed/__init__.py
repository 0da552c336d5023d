"""mx.distributed: jobs of several processes, what they are told, and how they exchange arrays."""

from mixnet.distributed.job import Job as Job
from mixnet.distributed.job import JobError as JobError
from mixnet.distributed.job import WorkerLostError as WorkerLostError
from mixnet.distributed.job import find_job as find_job
from mixnet.distributed.world import World as World
from mixnet.distributed.world import world as world
