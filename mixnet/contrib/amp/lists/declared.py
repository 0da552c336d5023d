"""Names of operators by the precision that they declare."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from mixnet.ops.op import Op
from mixnet.ops.registry import OPERATORS


def listed() -> dict[str, Op]:
    """The library's operators that MXNet lists, by each of their names: those of ``mx.np`` are in no list."""
    return {
        name: op
        for name, op in OPERATORS.items()
        if op.in_amp_lists
        and not op.full_where
        and op.function.__module__.startswith("mixnet.")
        and not name.startswith(("_np", "np"))
    }


def in_half(
    precision: str | None, include: Iterable[str] = (), exclude: Iterable[str] = ()
) -> list[str]:
    """Names of operators by their precision beside float16.

    Args:
        precision: ``"low"``, ``"full"``, ``"widest"``, see :class:`mixnet.ops.op.Op`; None
            for what comes.
        include: further names.
        exclude: names that MXNet lists elsewhere, or nowhere.
    """
    names = {name for name, op in listed().items() if op.precision == precision}
    return sorted((names | {*include}) - {*exclude})


def in_bfloat16(
    precision: str,
    half: Mapping[str, str],
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
) -> list[str]:
    """Names of operators by their precision beside bfloat16.

    Args:
        precision: ``"low"``, ``"full"``, ``"widest"``, or ``"any"`` for what comes.
        half: the precision beside float16 of every name that is listed there.
        include: further names.
        exclude: names that MXNet lists elsewhere, or nowhere.
    """
    names = {name for name, kind in half.items() if _beside_bfloat16(name, kind) == precision}
    return sorted((names | {*include}) - {*exclude})


def _beside_bfloat16(name: str, half: str) -> str:
    op = OPERATORS.get(name)
    if op is None or op.bfloat16 is None or name.startswith("_sparse_"):  # of these the dense alone
        return "widest" if half == "widest" else "full"
    return op.bfloat16


def conditional() -> list[tuple[str, str, list[str]]]:
    """Operators that want float32 with certain values of an attribute: name, attribute, values."""
    return [
        (name, attribute, list(values))
        for name, op in OPERATORS.items()
        if name == op.name and op.function.__module__.startswith("mixnet.")
        for attribute, values in op.full_where.items()
    ]


def losses(exclude: Collection[str] = ()) -> list[str]:
    """Operators that are a loss: their gradient alone reads a label.

    Args:
        exclude: names that MXNet does not list.
    """
    return [
        name
        for name, op in OPERATORS.items()
        if op.labels
        and name == op.name
        and name not in exclude
        and op.function.__module__.startswith("mixnet.")
    ]
