"""The job of this process, and process sets: some of its processes, which exchange without the others."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import count

from mixnet import profiler
from mixnet.base import AttributeTypeError, AttributeValueError, MXNetError
from mixnet.distributed.job import local_rank as _local_rank
from mixnet.distributed.part import Part
from mixnet.distributed.processes import World
from mixnet.distributed.processes import world as _world
from mixnet.engine.current import current
from mixnet.profiler.session import session

_joined: list[World] = []


def init(comm: object = None, process_sets: Iterable[ProcessSet] | str | None = None) -> None:
    """Join the job that this process was started in; without one, be its only process.

    With ``HOROVOD_TIMELINE`` set to the name of a file, start a timeline.

    Args:
        comm: kept for programs, None: all processes of the job take part.
        process_sets: to add, the same in all processes. ``"dynamic"`` is accepted: sets can always be added.

    Raises:
        JobError: the other processes do not join.
        ValueError: ``comm`` is given.
    """
    if comm:
        raise AttributeValueError(
            "hvd.init: comm is not supported, all processes of the job take part. For some of them, "
            "use hvd.add_process_set([0, 1]) and process_set= of the exchanges."
        )
    if not _joined:
        _joined.append(_world(may_be_alone=True))
        timeline = os.environ.get("HOROVOD_TIMELINE", "")
        if timeline and timeline != "DYNAMIC":
            start_timeline(timeline)
    for each in () if process_sets is None or isinstance(process_sets, str) else process_sets:
        add_process_set(each)


def shutdown() -> None:
    """Accepted for compatibility: the job is left when the process ends."""


def start_timeline(file_path: str, mark_cycles: bool = False) -> None:
    """Profile the first process: what runs there, and its exchanges. The others do nothing.

    ``mx.profiler`` does this and writes the file, a Chrome trace, every second and at the end. To
    see all processes in one trace, call ``mx.profiler.dump_all`` instead.

    Args:
        file_path: of the trace.
        mark_cycles: kept for programs: exchanges are not run in cycles.

    Raises:
        MXNetError: a profile is running.
    """
    if rank() != 0:
        return
    if session.running:
        raise MXNetError(
            "start_timeline: a profile is running; call hvd.stop_timeline() or "
            "mx.profiler.set_state('stop') first."
        )
    # Programs run as they do without a profile.
    profiler.set_config(
        filename=file_path, profile_imperative=False, profile_symbolic=False, continuous_dump=True
    )
    profiler.set_state("run")


def stop_timeline() -> None:
    """End the timeline of the first process and write its file."""
    if rank() == 0 and session.running:
        profiler.dump()


def is_initialized() -> bool:
    """Whether ``init`` was called."""
    return bool(_joined)


def _joined_world() -> World:
    if not _joined:
        raise MXNetError(
            "hvd.init() was not called: call it before any other function of hvd, to join the job."
        )
    return _joined[0]


def rank() -> int:
    """Number of this process in the job."""
    return _joined_world().rank


def size() -> int:
    """How many processes the job has."""
    return _joined_world().size


def local_rank() -> int:
    """Number of this process on its machine, as the launcher says; else ``rank()``."""
    return _local_rank(rank())


def local_size() -> int:
    """How many processes of the job are on this machine."""
    host = [name.rpartition(" on ")[2] for name in _joined_world().member.peers]
    return host.count(host[rank()])


def cross_size() -> int:
    """How many machines have a process with this one's ``local_rank``."""
    return len(_across())


def cross_rank() -> int:
    """Number of this process's machine among those."""
    return _across().index(rank())


def _across() -> list[int]:
    """The processes that are, on their machines, the same one as this."""
    hosts = [name.rpartition(" on ")[2] for name in _joined_world().member.peers]
    of_each = [hosts[:i].count(host) for i, host in enumerate(hosts)]
    return [i for i, number in enumerate(of_each) if number == of_each[rank()]]


def gloo_built() -> bool:
    """Whether sums between CPU processes are those of Gloo, which XLA contains: yes."""
    return True


gloo_enabled = gloo_built


def mpi_built() -> bool:
    """Whether Horovod's libraries other than Gloo are available: no."""
    return False


mpi_enabled = mpi_threads_supported = mpi_built
nccl_built = ddl_built = ccl_built = cuda_built = rocm_built = mpi_built


# ---- process sets -------------------------------------------------------------------------------


class ProcessSet:
    """Some of the processes, which exchange arrays without the others: ``process_set=`` of exchanges.

    Args:
        ranks: of the processes. The set can be used once ``add_process_set`` or ``init`` has got it.
    """

    def __init__(self, ranks: Iterable[int]):
        try:
            self.ranks: list[int] | None = sorted({int(each) for each in ranks})
        except TypeError:
            raise AttributeTypeError(
                f"ProcessSet takes a list of ranks, such as [0, 2], not {ranks!r}."
            ) from None
        self.process_set_id: int | None = None
        self._part: World | None = None

    def included(self) -> bool:
        """Whether this process is in the set.

        Raises:
            MXNetError: the set was not added.
        """
        return rank() in self._known_ranks()

    def rank(self) -> int:
        """Number of this process in the set.

        Raises:
            MXNetError: the set was not added.
            ValueError: this process is not in the set.
        """
        return self._exchanges("rank").rank

    def size(self) -> int:
        """How many processes the set has.

        Raises:
            MXNetError: the set was not added.
        """
        return len(self._known_ranks())

    def _known_ranks(self) -> list[int]:
        if self.process_set_id is None or self.ranks is None:
            raise MXNetError(
                f"{self!r} was not added, or was removed: call hvd.add_process_set in all processes first."
            )
        return self.ranks

    def _exchanges(self, name: str) -> World:
        """The processes of the set, with which its exchanges are made."""
        ranks = self._known_ranks()
        if self._part is None:
            raise AttributeValueError(
                f"{name}: rank {rank()} is not in process set {self.process_set_id} of the ranks "
                f"{', '.join(map(str, ranks))}. Call it only where process_set.included()."
            )
        return self._part

    def _place(self, root: int) -> int:
        """Number of a process in the set, from its rank."""
        ranks = self._known_ranks()
        if root not in ranks:
            among = f"go from 0 to {ranks[-1]}" if len(ranks) == size() else f"are {ranks}"
            raise AttributeValueError(f"root_rank={root}: ranks {among}.")
        return ranks.index(root)

    def __repr__(self) -> str:
        return f"ProcessSet(process_set_id={self.process_set_id}, ranks={self.ranks})"


class _AllProcesses(ProcessSet):
    def __init__(self) -> None:
        super().__init__(())
        self.process_set_id = 0

    def _known_ranks(self) -> list[int]:
        self.ranks = list(range(size()))
        return self.ranks

    def _exchanges(self, name: str) -> World:
        return _joined_world()


global_process_set: ProcessSet = _AllProcesses()
_sets: list[ProcessSet] = []
_numbers = count(1)


def add_process_set(process_set: ProcessSet | Sequence[int]) -> ProcessSet:
    """Make a process set known; all processes call this with the same ranks, also those outside of it.

    Args:
        process_set: or the ranks of one.

    Raises:
        ValueError: a rank does not exist, or there is such a set.
        MXNetError: the processes add different sets.
    """
    world = _joined_world()
    added = process_set if isinstance(process_set, ProcessSet) else ProcessSet(process_set)
    ranks = added.ranks or []
    if not ranks or not 0 <= ranks[0] <= ranks[-1] < world.size:
        raise AttributeValueError(
            f"add_process_set: ranks {ranks} have to be one or more from 0 to {world.size - 1}."
        )
    if any(ranks == each._known_ranks() for each in (global_process_set, *_sets)):
        raise AttributeValueError(
            f"add_process_set: there is a process set of the ranks {ranks}; use that one, or remove it "
            "with hvd.remove_process_set."
        )
    _agree("add_process_set", ranks)
    added._part = Part(world, tuple(ranks)) if world.rank in ranks else None
    added.process_set_id = next(_numbers)
    _sets.append(added)
    return added


def remove_process_set(process_set: ProcessSet) -> bool:
    """Forget a process set; all processes call this. Returns whether it was known.

    Args:
        process_set: one that ``add_process_set`` or ``init`` has got.
    """
    if process_set not in _sets:
        return False
    _agree("remove_process_set", process_set._known_ranks())
    _sets.remove(process_set)
    if isinstance(process_set._part, Part):
        process_set._part.close()
    process_set._part = process_set.process_set_id = None
    return True


def _agree(name: str, ranks: Sequence[int]) -> None:
    """Wait until all processes of the job call the same function for the same set."""
    world = _joined_world()
    var = world.together([], lambda arrays: None, name, f"ranks {', '.join(map(str, ranks))}")
    current.engine.wait_for_var(var)
