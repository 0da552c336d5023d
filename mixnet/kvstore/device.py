"""The store that merges with XLA collectives over the devices of this process."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from mixnet.context import Context
from mixnet.kvstore.compression import Compression, check_compressible, state_shapes
from mixnet.kvstore.local import Key, LocalStore, _plain, with_sum_recorded
from mixnet.kvstore.steps import StepsInOne
from mixnet.ndarray.create import zeros
from mixnet.ndarray.ndarray import NDArray
from mixnet.runtime.devices.collective import all_reduce, run_on_mesh
from mixnet.runtime.value.value import Value

_LARGE = 1 << 18  # elements of a value that is stored separately


class DeviceStore(LocalStore):
    """Values are stored on the devices that push them, distributed evenly over several."""

    def __init__(self) -> None:
        super().__init__()
        self._homes: dict[Key, Context] = {}
        self._load: dict[Context, int] = {}  # elements of the large values on a context
        self._compression: Compression | None = None
        self._residuals: dict[Key, list[list[Value]]] = {}
        self._steps: StepsInOne = StepsInOne(self)

    def __getstate__(self) -> dict[str, Any]:
        """The attributes, without the programs of joint steps, which a copy compiles again."""
        return {name: value for name, value in vars(self).items() if name != "_steps"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _steps=StepsInOne(self))

    def compress(self, compression: Compression) -> None:
        """Compress gradients from now on."""
        self._compression, self.is_compressed = compression, True

    def home(self, key: Key, values: Sequence[NDArray]) -> Context:
        """The context that stores the value of a key: the least loaded one of those that push it.

        All small values are stored on the first one, so that one program updates them. A value that
        has not been pushed yet stays where it was initialized.
        """
        contexts = [value.context for value in values]
        if key not in self.stored or self._steps.are_joint:
            return contexts[0]
        device = self._homes.get(key)
        if device is None or device not in contexts:
            size = math.prod(values[0].shape)
            if size < _LARGE:
                device = contexts[0]
            else:
                device = min(contexts, key=lambda context: self._load.get(context, 0))
                self._load[device] = self._load.get(device, 0) + size
            self._homes[key] = device
        return device

    def step(
        self, groups: Mapping[Key, Sequence[NDArray]], outs: Mapping[Key, Sequence[NDArray]]
    ) -> None:
        """A push and a pull; after some steps backward, sums and updates are one program over all devices."""
        if not self._steps.run(groups, outs):
            super().step(groups, outs)

    def sum(self, groups: Mapping[Key, Sequence[NDArray]], priority: int) -> list[list[Value]]:
        """For each key the sum of its dense arrays on all their contexts."""
        values = {key: [_plain(each) for each in group] for key, group in groups.items()}
        if self._compression is not None:
            return [self._compressed_sum(key, group, priority) for key, group in values.items()]
        values = {key: with_sum_recorded(group) for key, group in values.items()}
        several = {key: group for key, group in values.items() if len(group) > 1}
        reduced = all_reduce(list(several.values()), priority) if several else ()
        sums = dict(zip(several, reduced, strict=True))
        return [sums.get(key, group) for key, group in values.items()]

    def _compressed_sum(self, key: Key, group: list[Value], priority: int) -> list[Value]:
        assert self._compression is not None
        check_compressible(key, group[0].spec)
        shapes = state_shapes(self._compression, group[0].spec.shape)
        if shapes is None:
            return all_reduce([group], priority)[0] if len(group) > 1 else group
        residuals = self._residuals.get(key)
        if residuals is None or [each.spec for each in residuals[0]] != [
            each.spec for each in group
        ]:
            residuals = [[_zeros(value, shape) for value in group] for shape in shapes]
        sums, *self._residuals[key] = run_on_mesh(
            self._compression, [group, *residuals], priority, "compressed all-reduce"
        )
        return sums


def _zeros(value: Value, shape: Sequence[int]) -> Any:
    """Zeros of a shape, with the dtype and device of a value."""
    return zeros(tuple(shape), value.spec.context, value.spec.dtype)._read()
