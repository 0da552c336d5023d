"""The conversion table: operator name -> function that writes it with ONNX operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mixnet.base import MXNetError
from mixnet.export import network
from mixnet.graph.node import Node
from mixnet.onnx.export.builder import Builder


@dataclass(frozen=True)
class Call:
    """A node to convert.

    Args:
        node: of the symbol's graph.
        inputs: names of its inputs' values.
        shapes: of the inputs; None for dynamic dimensions.
        dtypes: of the inputs.
        out_shapes: of the outputs, likewise.
        out_dtypes: of the outputs.
        attributes: the operator's attributes.
    """

    node: Node
    inputs: tuple[str, ...]
    shapes: tuple[tuple[Any, ...], ...]
    dtypes: tuple[np.dtype, ...]
    out_shapes: tuple[tuple[Any, ...], ...]
    out_dtypes: tuple[np.dtype, ...]
    attributes: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.attributes[name]

    @property
    def x(self) -> str:
        """The first input."""
        return self.inputs[0]

    @property
    def dtype(self) -> np.dtype:
        """Dtype of the first input."""
        return self.dtypes[0]

    @property
    def ndim(self) -> int:
        """Number of axes of the first input."""
        return len(self.shapes[0])

    def axis(self, value: int) -> int:
        """An axis of the first input, counted from the front."""
        return value % self.ndim if self.ndim else 0

    def argument(self, name: str) -> str | None:
        """The value of an array parameter; None if the call omits it."""
        names = self.node.op.argument_names(self.node.statics)
        names = names if len(names) == len(self.inputs) else self.node.op.arrays
        return dict(zip(names, self.inputs, strict=False)).get(name)

    def refuse(self, why: str) -> MXNetError:
        """The error for a call without an equivalent in ONNX."""
        return refusal(self.node, why)


Conversion = Callable[[Builder, Call], Any]
CONVERSIONS: dict[str, Conversion] = {}
"""Conversions by the operator's registered name: names of values, one for each visible output."""

REASONS: dict[str, str] = {}
"""Why an operator cannot be written."""


class NotHere(Exception):
    """Raised by a conversion that does not cover this call, which is then converted by primitives."""


def converts(*names: str) -> Callable[[Conversion], Conversion]:
    """Decorator that registers a conversion of operators."""

    def declare(conversion: Conversion) -> Conversion:
        for name in names:
            assert name not in CONVERSIONS, f"two conversions of {name}"
            CONVERSIONS[name] = conversion
        return conversion

    return declare


def refusal(node: Node, why: str) -> MXNetError:
    """The error for a node that cannot be exported; names its operator, itself and the user's line."""
    return network.refusal(node, "ONNX", why)
