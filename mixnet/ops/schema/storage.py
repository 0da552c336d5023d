"""Storage types of an operator's outputs and gradients, inferred from its inputs.

A storage type is ``default`` (dense), ``row_sparse`` or ``csr``. What has no rule, or a rule that does not
know the types at hand, runs on dense copies. ``storage_rules`` has those that operators declare.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

DENSE = "default"
Types = Sequence[str]
Attributes = Mapping[str, Any]


class StorageQuery(NamedTuple):
    """The call whose storage types a rule decides.

    Attributes:
        types: storage type of each input.
        attributes: the call's, by name, with their numbers.
        head: of the output's gradient; for rules of gradients.
        output: of the output; for rules of gradients.
    """

    types: Types
    attributes: Attributes
    head: str = DENSE
    output: str = DENSE


class Storage:
    """How an operator treats storage types.

    Args:
        output: the storage type of the first output; None where there is no such computation and dense
            copies are taken.
        gradients: the storage type of each input's gradient; all dense by default.
        on_stored: whether the operator leaves 0 at 0 where ``output`` is that of its one input: it may be
            computed on the stored values alone.
        rows_alone: whether it takes row_sparse arrays alone: MXNet has no dense kernel of it.
    """

    def __init__(
        self,
        output: Callable[[StorageQuery], str | None],
        gradients: Callable[[StorageQuery], Sequence[str]] | None = None,
        on_stored: bool = False,
        rows_alone: bool = False,
    ):
        self._output, self._gradients = output, gradients
        self.on_stored, self.rows_alone = on_stored, rows_alone

    def output(self, types: Types, attributes: Attributes) -> str | None:
        """Storage type of the outputs; None where the operator runs on dense copies."""
        return self._output(StorageQuery(types, attributes))

    def gradients(self, query: StorageQuery) -> Sequence[str]:
        """Storage type of the gradient of each input."""
        if self._gradients is None:
            return [DENSE] * len(query.types)
        return self._gradients(query)


def all_dense(types: Types) -> bool:
    """Whether all inputs are dense."""
    return all(each == DENSE for each in types)
