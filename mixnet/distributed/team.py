"""All processes of a job as a team: their steps, the sums and the update run as one program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import SingleDeviceSharding

from mixnet.context import Context
from mixnet.distributed.agreement import Description
from mixnet.distributed.awaited import WITHOUT_LIMIT, Steps
from mixnet.distributed.exchanges import on_device
from mixnet.distributed.processes import World
from mixnet.engine.variable import Var
from mixnet.ops.schema.over_devices import AXIS
from mixnet.runtime.record.joint import SumsOver, Team
from mixnet.runtime.value.value import Spec, handed_over


def sums_in_one(arrays: Sequence[Any]) -> tuple[Any, ...]:
    """Sums over all processes, in one message.

    With several messages, programs that are not the same in all processes might send them in
    different orders.
    """
    total = jax.lax.psum(jnp.concatenate([each.ravel() for each in arrays]), AXIS)
    sums, start = [], 0
    for each in arrays:
        sums.append(total[start : start + each.size].reshape(each.shape))
        start += each.size
    return tuple(sums)


class WorldTeam(Team):
    """One device per process: arrays move from the process's own XLA client to that of the job and back.

    On CPUs, this does not copy.

    Args:
        world: the job.
        context: the device of this process, of a CPU.
    """

    donates = False
    divides_later = False  # what outlives the job must not lie with its client

    def __init__(self, world: World, context: Context):
        self.world = world
        self.contexts = (context,)
        self.sharding = world._sharding
        self.size = world.size
        self.sums = SumsOver(sums_in_one)
        (device,) = world._sharding.addressable_devices
        self.devices = (device,)
        self._own_device = SingleDeviceSharding(device)

    def whole(self, struct: jax.ShapeDtypeStruct, parts: list[Any]) -> Any:
        """The global array of which this is the local part."""
        return super().whole(struct, [on_device(np.asarray(parts[0]), self._own_device)])

    def parts(self, whole: Any, spec: Spec) -> list[Any]:
        """The local part of an array, computed."""
        return [handed_over(np.asarray(whole.addressable_data(0)).reshape(spec.shape), spec)]

    def call(self, program: Callable[..., Any], scalars: object, wholes: list[Any]) -> list[Any]:
        """Run a program; waits for the other processes.

        Raises:
            WorkerLostError: one of them has exited.
        """
        self.world.check()
        try:
            results = list(program(scalars, *wholes))
            jax.block_until_ready(results)
        except Exception as error:
            raise self.world.failed(error) from None
        return results

    def start(
        self, run: Callable[[], None], reads: Sequence[Var], writes: Sequence[Var], name: str
    ) -> None:
        """Push a task, in the order of exchanges."""

        def steps() -> Steps[None]:
            yield WITHOUT_LIMIT  # a program waits for the other processes without a limit
            run()

        self.world._push(steps, reads, writes, 0, name, Description(name))

    def fail(self, error: BaseException) -> None:
        """Notify the others, unless they have been notified."""
        self.world.give_up(error)
