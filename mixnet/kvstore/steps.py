"""Training steps with a store as one program: backward, sums over devices or processes, and updates."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from mixnet import config
from mixnet.autograd.scope import RecordingScope
from mixnet.context import Context
from mixnet.ndarray.ndarray import NDArray
from mixnet.optimizer import Optimizer, Updater
from mixnet.optimizer.updater import update_all
from mixnet.runtime.record.joint import JointStep, Team, can_be_joint
from mixnet.runtime.value.change import Change, change
from mixnet.runtime.value.value import Value

if TYPE_CHECKING:
    from mixnet.distributed.processes import World
    from mixnet.kvstore.dist import OverProcesses
    from mixnet.kvstore.local import Key, LocalStore

Groups = Mapping["Key", Sequence[NDArray]]


class StepsInOne:
    """Compiles a step into one program, if backward and update are connected only by dense sums.

    The updater is called once, for the first device. Its recording is repeated on the others, so that each
    has the stored values and the optimizer's states, and nothing is copied afterwards.

    Args:
        store: holds the values, on the first device, and the updater.
    """

    least_devices = 2

    def __init__(self, store: LocalStore):
        self._store = weakref.ref(store)
        self.after: int = config.get("MIXNET_JOINT_STEP_AFTER")
        self._calls = 0
        self._known: tuple[Groups, Groups, list[object]] | None = None  # the last plain step
        self._teams: dict[tuple[Context, ...], Team] = {}
        self._copies: weakref.WeakKeyDictionary[Value, list[Value]] = weakref.WeakKeyDictionary()

    @property
    def are_joint(self) -> bool:
        """Whether steps have become one program, so that values are stored on the first device."""
        return bool(self._teams)

    def run(self, groups: Groups, outs: Groups) -> bool:
        """Run a step as one program.

        Args:
            groups: gradients by key, one for each device.
            outs: parameters by key, likewise.

        Returns:
            False if that is not possible; then nothing has happened.
        """
        store = self._store()
        if store is None or not self.after:
            return False
        if not self._is_known(store, groups, outs):
            if not self._is_plain(store, groups, outs):
                return False
            self._known = groups, outs, _facts(store, groups, outs)
        self._calls += 1
        if self._calls < self.after:
            return False
        if self._calls == self.after:  # the next one finds the copies
            self._run_in_parts(store, groups, outs)
            return True
        contexts = tuple(each.context for each in next(iter(groups.values())))
        team = self._team(store, contexts)
        if team is None:
            return False
        with RecordingScope(False, None):
            return self._run(store, team, groups, outs)

    def _team(self, store: LocalStore, contexts: tuple[Context, ...]) -> Team | None:
        """The devices of a step; None if their programs cannot be merged now."""
        if not can_be_joint(contexts):
            return None
        if contexts not in self._teams:
            self._teams[contexts] = Team(contexts)
            self._gather(store, contexts[0])
        return self._teams[contexts]

    def _is_known(self, store: LocalStore, groups: Groups, outs: Groups) -> bool:
        """Whether the step is like the one before, which was plain."""
        known = self._known
        return (
            known is not None
            and known[0] is groups
            and known[1] is outs
            and known[2] == _facts(store, groups, outs)
        )

    def _is_plain(self, store: LocalStore, groups: Groups, outs: Groups) -> bool:
        """Whether the step consists only of a dense sum over devices and an update by an optimizer."""
        if not only_records(store.updater) or set(groups) != set(outs) or not groups:
            return False
        if store.is_compressed:
            return False
        contexts = [each.context for each in next(iter(groups.values()))]
        if len(contexts) < self.least_devices:
            return False
        for key, group in groups.items():
            arrays = outs[key]
            if [each.context for each in group] != contexts:
                return False
            if [each.context for each in arrays] != contexts:
                return False
            if any(each._is_sparse for each in (*group, *arrays)) or store.check(key)._is_sparse:
                return False
            if any(each.shape != store.stored[key].shape for each in group):
                return False  # which is an error there
        return True

    def _gather(self, store: LocalStore, context: Context) -> None:
        """Move values and the optimizer's states to the first device."""
        updater = store.updater
        assert isinstance(updater, Updater)  # which _is_plain requires
        for key, value in store.stored.items():
            if value.context is not context and not value._is_sparse:
                store.stored[key] = value.as_in_context(context)
                updater.states_synced[key] = False

    def _run(self, store: LocalStore, team: Team, groups: Groups, outs: Groups) -> bool:
        step = JointStep(team)
        stored = [store.stored[key] for key in groups]
        before = [each._read() for each in stored]
        if not step.are_followed(before, self._copies):
            self._run_in_parts(store, groups, outs)
            return True
        return step.run(partial(self._record, step, store, stored, before, groups, outs))

    def _record(
        self,
        step: JointStep,
        store: LocalStore,
        stored: Sequence[NDArray],
        before: list[Value],
        groups: Groups,
        outs: Groups,
    ) -> bool:
        sums = step.sums([[_plain(each) for each in group] for group in groups.values()])
        if sums is None:
            return False
        update = partial(self._update, step, store, stored, sums, before, outs)
        update_all([store.updater], update, [store, step])
        while before:  # the program may take over their memory: nobody else holds them
            self._copies.pop(before.pop(), None)
        return True

    def _update(
        self,
        step: JointStep,
        store: LocalStore,
        stored: Sequence[NDArray],
        sums: list[Value],
        before: Sequence[Value],
        outs: Groups,
    ) -> None:
        """Record the update on the first device, and write what follows from it on the others."""
        _update(store, outs, stored, sums)
        sums.clear()  # only the update reads them
        step.follow(self._copies)
        change(partial(self._write, stored, before, outs))
        step.is_complete = True

    def _write(
        self,
        stored: Sequence[NDArray],
        before: Sequence[Value],
        outs: Groups,
        attempt: Change,
    ) -> None:
        """Write what is stored now to the parameters on all devices."""
        for arrays, value, old in zip(outs.values(), stored, before, strict=True):
            result = value._read()
            first, *others = arrays
            shared = first._shared(result)
            if shared is not first._value:
                attempt.write(first, shared)
            copies = self._copies[result]
            for out, each in zip(others, copies, strict=True):
                attempt.write(out, out._fitted(each))  # which no other array holds
            if shared is not result:
                self._copies[result] = _aliases(copies)
                # After an error, the parameters get these values back, which the update has read.
                for each, each_old in zip(copies, self._copies[old], strict=True):
                    each.segment.replaces([(each, each_old)])

    def _run_in_parts(self, store: LocalStore, groups: Groups, outs: Groups) -> None:
        """A step in several programs, which determines where the copies of the stored values are."""
        store.push(groups, 0)
        store.pull(outs, 0)
        for key, arrays in outs.items():
            first, *others = [each._read() for each in arrays]
            value = store.stored[key]._read()
            self._copies[value] = others if first is value else _aliases(others)


class StepsOverProcesses(StepsInOne):
    """Steps of a store of several processes: backward on the first device, the sums over
    processes, and the update.

    Gradients that the processes exchange directly are one message between two programs, which
    takes less time than a program over the processes; larger ones are part of such a program.
    Other devices of a process add their gradients first, and get the parameters afterwards.
    How a step runs follows from what is the same in all processes alone, since all have to
    exchange in the same way.

    Args:
        store: of one process of the job.
        world: the job.
    """

    least_devices = 1

    def __init__(self, store: OverProcesses, world: World):
        super().__init__(store)
        self._world = world

    def _team(self, store: LocalStore, contexts: tuple[Context, ...]) -> Team | None:
        from mixnet.distributed.team import WorldTeam

        home = contexts[0]
        if home.device.platform != "cpu":  # the job's programs run on the host
            return None
        if (home,) not in self._teams:
            self._teams[home,] = WorldTeam(self._world, home)
            self._gather(store, home)
        return self._teams[home,]

    def _is_plain(self, store: LocalStore, groups: Groups, outs: Groups) -> bool:
        if not super()._is_plain(store, groups, outs):
            return False
        return len({group[0].dtype for group in groups.values()}) == 1  # they travel as one

    def _run(self, store: Any, team: Team, groups: Groups, outs: Groups) -> bool:
        values = store.own_sums(groups, team.contexts[0])
        if self._world.is_direct([value.spec for value in values]):
            stored = [store.stored[key] for key in groups]
            row = store.sums_in_one_message(list(groups), values)
            update_all([store.updater], partial(_update, store, groups, stored, row), [store])
        else:
            self._run_as_one(store, team, groups, values)
        store.pull(outs, 0)
        return True

    def _run_as_one(self, store: Any, team: Team, groups: Groups, values: list[Value]) -> None:
        stored = [store.stored[key] for key in groups]
        step = JointStep(team)

        def record() -> bool:
            sums = step.sums([[value] for value in values])
            assert sums is not None  # one device is like itself
            values.clear()
            try:
                update = partial(_update, store, groups, stored, sums)
                update_all([store.updater], update, [store])
            finally:
                step.is_complete = True  # the other processes wait for the sums in any case
            return True

        step.run(record)


def _facts(store: LocalStore, groups: Groups, outs: Groups) -> list[object]:
    """The settings that may change between steps with the same arrays, and make one plain or not."""
    updater = store.updater
    arrays = [*chain.from_iterable(groups.values()), *chain.from_iterable(outs.values())]
    return [
        updater,
        updater.optimizer if isinstance(updater, Updater) else None,
        store.is_compressed,
        *[each._value.spec for each in arrays],
        *[store.stored[key]._value.spec for key in groups],
    ]


def only_records(updater: object) -> bool:
    """Whether an update is known to only record operations: a user-defined optimizer may read arrays."""
    if type(updater) is not Updater or not updater.optimizer._mx_updates_by_steps():
        return False
    return type(updater.optimizer).__module__.startswith(Optimizer.__module__.rpartition(".")[0])


def _update(store: LocalStore, keys: Any, stored: Sequence[NDArray], sums: Sequence[Value]) -> None:
    """Record the optimizer's update of all values."""
    totals = [value._wrap(total) for value, total in zip(stored, sums, strict=True)]
    store.updater(list(keys), totals, list(stored))  # type: ignore[misc, arg-type]


def _aliases(copies: Sequence[Value]) -> list[Value]:
    """Copies of a stored value for a parameter that holds an alias of it, as it does without a mark.

    Forward and update read two values on the first device then, so they have to on the others.
    """
    return [each.alias() for each in copies]


def _plain(array: NDArray) -> Value:
    """The value detached from the tape."""
    value = array._read()
    return value if value.node is None else value.alias()
