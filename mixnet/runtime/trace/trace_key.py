"""The readable key of a traced graph, from which it is clear why a call needs another graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mixnet.runtime.value.value import Spec


@dataclass(frozen=True)
class TraceKey:
    """The properties that a traced graph depends on.

    Args:
        inputs: specs of the arrays among the arguments.
        training: whether operators train.
        names: the names of the inputs; they are numbered if they have none.
        arguments: the other arguments, as text.
        parameters: specs of the parameters by name, as far as known.
        structure: hash of the recorded graph, empty if unknown.
    """

    inputs: tuple[Spec, ...]
    training: bool
    names: tuple[str, ...] = ()
    arguments: str = ""
    parameters: Mapping[str, Spec] = field(default_factory=dict)
    structure: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "inputs": [
                {"name": name, **_plain(spec)}
                for name, spec in zip(self._names(), self.inputs, strict=True)
            ],
            "training": self.training,
            "arguments": self.arguments,
            "parameters": [
                {"name": name, **_plain(spec)} for name, spec in self.parameters.items()
            ],
            "structure": self.structure,
        }

    def _names(self) -> Sequence[str]:
        return self.names or [f"input {i}" for i in range(len(self.inputs))]

    def reasons(self, before: TraceKey | None) -> list[str]:
        """The reasons why a graph traced for ``before`` cannot be reused; empty if it can."""
        if before is None:
            return ["first trace"]
        reasons = []
        if len(before.inputs) != len(self.inputs):
            reasons.append(f"number of inputs: {len(before.inputs)} -> {len(self.inputs)}")
        else:
            for name, old, new in zip(self._names(), before.inputs, self.inputs, strict=True):
                reasons += _differences(name, old, new)
        if before.arguments != self.arguments:
            reasons.append(f"arguments: {before.arguments} -> {self.arguments}")
        if before.training != self.training:
            reasons.append(f"train mode: {before.training} -> {self.training}")
        for name in [*self.parameters, *(n for n in before.parameters if n not in self.parameters)]:
            was, now = before.parameters.get(name), self.parameters.get(name)
            if was is None:
                reasons.append(f"parameter {name}: new")
            elif now is None:
                reasons.append(f"parameter {name}: no longer there")
            else:
                reasons += _differences(f"parameter {name}", was, now)
        known = before.structure and self.structure
        if known and not reasons and before.structure != self.structure:
            reasons.append("the operations recorded are others")
        return reasons


def _plain(spec: Spec) -> dict[str, Any]:
    return {"shape": list(spec.shape), "dtype": spec.dtype.name, "context": str(spec.context)}


def _differences(name: str, old: Spec, new: Spec) -> list[str]:
    return [
        f"{name}: {aspect} {was} -> {now}"
        for aspect, was, now in (
            ("shape", old.shape, new.shape),
            ("dtype", old.dtype.name, new.dtype.name),
            ("context", old.context, new.context),
        )
        if was != now
    ]
