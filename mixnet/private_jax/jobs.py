"""Jobs of several processes: XLA's coordination service and its clients."""

from __future__ import annotations

import os
from typing import Any


def coordinator() -> str:
    """``address:port`` of the first process of a job, as Slurm or Open MPI name it.

    JAX knows it, and has no public function that only tells.
    """
    from jax._src.clusters import ClusterEnv

    seconds = 60
    detected = ClusterEnv.auto_detect_unset_distributed_params(
        None, None, None, None, None, seconds
    )
    return str(detected[0])


def start_service(address: str, processes: int, heartbeat: int, register: int) -> Any:
    """A service that introduces processes to each other.

    Args:
        address: ``address:port`` to listen at.
        processes: how many will come.
        heartbeat: seconds without a sign after which a process counts as lost.
        register: seconds to wait for all of them.
    """
    # As importing JAX does: no log lines of XLA.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    from jaxlib import _jax  # without all of JAX, which a scheduler does not need

    return _jax.get_distributed_runtime_service(
        address,
        processes,
        heartbeat_timeout=heartbeat,
        cluster_register_timeout=register,
        shutdown_timeout=1,
        recoverable=True,
    )


def connected_client(
    address: str, rank: int, processes: int, hostname: str, heartbeat: int, seconds: int
) -> Any:
    """A client with one CPU device that knows those of the other processes.

    JAX makes its own client distributed only if that is asked for before the first array; this one stands
    beside it.

    Args:
        address: ``address:port`` of the service.
        rank: of this process.
        processes: how many there are.
        hostname: where the others reach this process.
        heartbeat: seconds without a sign after which the service counts as lost.
        seconds: to wait for the service.

    Raises:
        JaxRuntimeError: the others were not found.
    """
    from jax._src.lib import _jax
    from jaxlib import xla_client

    service = _jax.get_distributed_runtime_client(
        address,
        rank,
        init_timeout=seconds,
        heartbeat_timeout=heartbeat,
        shutdown_on_destruction=False,
    )
    service.connect()
    collectives = _jax.make_gloo_tcp_collectives(distributed_client=service, hostname=hostname)
    return xla_client.make_cpu_client(
        distributed_client=service,
        node_id=rank,
        num_nodes=processes,
        collectives=collectives,
        num_devices=1,
    )
