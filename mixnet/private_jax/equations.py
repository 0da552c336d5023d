"""The source location of a jaxpr's equation."""

from __future__ import annotations

from collections.abc import Callable

from mixnet.private_jax.equation import Equation


def line_of(equation: Equation, is_wanted: Callable[[str], bool]) -> tuple[str, int, str] | None:
    """File, line and function of the innermost frame of an equation's traceback whose file is
    wanted; None for none.
    """
    trace = getattr(getattr(equation, "source_info", None), "traceback", None)
    for frame in getattr(trace, "frames", ()):
        if is_wanted(frame.file_name):
            return frame.file_name, int(frame.line_num), str(frame.function_name)
    return None
