"""Check which operators can be exported."""

from __future__ import annotations

import mixnet.onnx.export.conversions  # noqa: F401 - fills the tables
from mixnet.onnx.export.export_model import checked_opset
from mixnet.onnx.export.table import CONVERSIONS, REASONS
from mixnet.ops.registry import OPERATORS


def reason_against(name: str) -> str | None:
    """The reason why an operator cannot be exported; None if it can.

    Args:
        name: registered name of an operator.
    """
    op = OPERATORS[name]
    if name in CONVERSIONS:
        return None
    if name in REASONS:
        return REASONS[name]
    if op.measure is not None:
        return "the shape of its result depends on values; mask elements out, or select them after the model."
    if op.calls_python:
        return "it runs Python."
    if op.takes_key and op._draws is None and op.bodies is None:
        return (
            "it draws random numbers of a distribution that ONNX does not have; draw them outside."
        )
    return None


def get_operator_support(opset_version: int | None = None) -> list[str]:
    """Registered names of the operators that :func:`export_model` writes.

    Args:
        opset_version: ONNX's operator set, as for ``export_model``.
    """
    checked_opset(opset_version)
    return sorted({op.name for op in OPERATORS.values() if reason_against(op.name) is None})
