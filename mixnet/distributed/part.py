"""Some of the processes of a job, which exchange arrays without the others."""

from __future__ import annotations

import numpy as np
from jax.sharding import Mesh, NamedSharding

from mixnet.base import AttributeValueError
from mixnet.distributed.direct import Direct
from mixnet.distributed.processes import World
from mixnet.engine.current import current


class Part(World):
    """Some processes of a job, as seen by one of them; created by all of them at the same time.

    Their exchanges run in the order of pushing, as do those of the whole job: processes that have several
    of these in common call their exchanges in the same order.

    Args:
        whole: the job.
        ranks: of the processes, in ascending order.

    Raises:
        AttributeValueError: this process is not one of them.
    """

    def __init__(self, whole: World, ranks: tuple[int, ...]):
        if whole.rank not in ranks:
            raise AttributeValueError(
                f"rank {whole.rank} is not one of the processes {', '.join(map(str, ranks))}."
            )
        self._whole = whole
        self._ranks, self.rank, self.size = ranks, ranks.index(whole.rank), len(ranks)
        self.member, self.wire = whole.member, whole.wire
        self.agreement = whole.member.agreement_of(ranks)
        self._ordering, self._turns = whole._ordering, whole._turns
        self._direct: Direct | None = None
        devices = whole._sharding.mesh.devices[list(ranks)]
        axes = whole._sharding.mesh.axis_names
        self._sharding = NamedSharding(Mesh(np.array(devices), axes), whole._sharding.spec)
        var = self.together([], lambda arrays: self._connect(), "connections", f"ranks {ranks}")
        current.engine.wait_for_var(var)

    @property
    def broken(self) -> BaseException | None:
        """Why the job, and with it this part, cannot go on."""
        return self._whole.broken

    @broken.setter
    def broken(self, reason: BaseException | None) -> None:
        self._whole.broken = reason

    def _left(self) -> list[int]:
        return sorted({*self.member.left} & {*self._ranks})

    def close(self) -> None:
        """Close the connections, after all exchanges."""
        current.engine.wait_for_var(self.wire)
        if self._direct is not None:
            self._direct.close()
