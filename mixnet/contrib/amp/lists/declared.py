"""Names of operators by their declared precision."""

from __future__ import annotations

from collections.abc import Iterable

from mixnet.ops.registry import OPERATORS


def declared(precision: str, also: Iterable[str] = (), but: Iterable[str] = ()) -> list[str]:
    """Names of the library's operators that declare a precision, as MXNet lists them: without those of ``mx.np``.

    Args:
        precision: ``"low"``, ``"full"`` or ``"widest"``, see :class:`mixnet.ops.registry.Op`.
        also: further names.
        but: names that MXNet lists elsewhere, or nowhere.
    """
    names = {
        name
        for name, op in OPERATORS.items()
        if op.precision == precision
        and op.function.__module__.startswith("mixnet.")
        and not name.startswith(("_np", "np"))
    }
    return sorted((names | {*also}) - {*but})
