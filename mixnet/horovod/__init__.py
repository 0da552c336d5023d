"""Horovod's functions for MXNet programs: ``import mixnet.horovod as hvd``.

They run on mixnet's own exchanges between processes; Horovod itself is not needed. Start programs as
those with ``dist_sync`` stores, by ``mixnet-launch``, ``mpirun`` or ``srun``; a process that is
started without them is the only one of its job. The k-th call of a process belongs with the k-th of
the others.
"""

from mixnet.horovod.exchanges import allgather as allgather
from mixnet.horovod.exchanges import allgather_object as allgather_object
from mixnet.horovod.exchanges import allreduce as allreduce
from mixnet.horovod.exchanges import allreduce_ as allreduce_
from mixnet.horovod.exchanges import alltoall as alltoall
from mixnet.horovod.exchanges import broadcast as broadcast
from mixnet.horovod.exchanges import broadcast_ as broadcast_
from mixnet.horovod.exchanges import broadcast_object as broadcast_object
from mixnet.horovod.exchanges import grouped_allreduce as grouped_allreduce
from mixnet.horovod.exchanges import grouped_allreduce_ as grouped_allreduce_
from mixnet.horovod.job import ProcessSet as ProcessSet
from mixnet.horovod.job import add_process_set as add_process_set
from mixnet.horovod.job import ccl_built as ccl_built
from mixnet.horovod.job import cross_rank as cross_rank
from mixnet.horovod.job import cross_size as cross_size
from mixnet.horovod.job import cuda_built as cuda_built
from mixnet.horovod.job import ddl_built as ddl_built
from mixnet.horovod.job import global_process_set as global_process_set
from mixnet.horovod.job import gloo_built as gloo_built
from mixnet.horovod.job import gloo_enabled as gloo_enabled
from mixnet.horovod.job import init as init
from mixnet.horovod.job import is_initialized as is_initialized
from mixnet.horovod.job import local_rank as local_rank
from mixnet.horovod.job import local_size as local_size
from mixnet.horovod.job import mpi_built as mpi_built
from mixnet.horovod.job import mpi_enabled as mpi_enabled
from mixnet.horovod.job import mpi_threads_supported as mpi_threads_supported
from mixnet.horovod.job import nccl_built as nccl_built
from mixnet.horovod.job import rank as rank
from mixnet.horovod.job import remove_process_set as remove_process_set
from mixnet.horovod.job import rocm_built as rocm_built
from mixnet.horovod.job import shutdown as shutdown
from mixnet.horovod.job import size as size
from mixnet.horovod.job import start_timeline as start_timeline
from mixnet.horovod.job import stop_timeline as stop_timeline
from mixnet.horovod.training import Compression as Compression
from mixnet.horovod.training import DistributedOptimizer as DistributedOptimizer
from mixnet.horovod.training import DistributedTrainer as DistributedTrainer
from mixnet.horovod.training import HalfCompression as HalfCompression
from mixnet.horovod.training import NoCompression as NoCompression
from mixnet.horovod.training import broadcast_parameters as broadcast_parameters
