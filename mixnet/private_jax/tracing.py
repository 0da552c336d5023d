"""Tracing without the wrappers of ``jax.make_jaxpr``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from mixnet.private_jax.jaxprs import ClosedJaxpr


def flat_tracer() -> Callable[[Callable[..., list[Any]], Sequence[Any]], tuple[Any, list]] | None:
    """A function from a function and abstract values to a jaxpr and its constants.

    The function traced takes arrays and returns a list of them. Nested jits must be written out while it runs
    (``jax.disable_jit``). None where this JAX traces in another way; ``jax.make_jaxpr`` then does the same in
    three times the time.
    """
    try:
        from jax._src.core import DebugInfo, initial_result_paths
        from jax._src.interpreters.partial_eval import trace_to_jaxpr_dynamic
        from jax._src.linear_util import wrap_init

        info = DebugInfo("mixnet", "operator", None, initial_result_paths)

        def trace(function: Callable[..., list[Any]], avals: Sequence[Any]) -> tuple[Any, list]:
            jaxpr, _, constants = trace_to_jaxpr_dynamic(
                wrap_init(function, debug_info=info), avals
            )
            # Since JAX 0.12, a jaxpr counts its constants among the inputs until they are attached.
            return ClosedJaxpr(jaxpr, constants).jaxpr, constants

        trace(lambda x: [x], [jax.core.ShapedArray((), np.dtype("float32"))])
    except (ImportError, TypeError, AttributeError, ValueError):  # another JAX
        return None
    return trace
