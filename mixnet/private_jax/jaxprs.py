"""The parts of a jaxpr, without ``jax.extend.core``, which also loads Pallas."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

try:
    from jax._src.core import Jaxpr as Jaxpr
    from jax._src.core import Literal as Literal
    from jax._src.core import Primitive as Primitive
    from jax._src.core import Var as Var

    try:
        from jax._src.core import ClosedJaxpr as ClosedJaxpr
    except ImportError:  # since JAX 0.12 there is one class for jaxprs with and without constants
        from jax._src.core import Jaxpr as ClosedJaxpr  # type: ignore[assignment]
except ImportError:  # another JAX
    from jax.extend.core import ClosedJaxpr as ClosedJaxpr
    from jax.extend.core import Jaxpr as Jaxpr
    from jax.extend.core import Literal as Literal
    from jax.extend.core import Primitive as Primitive
    from jax.extend.core import Var as Var


def literal_array(literal: Literal) -> np.ndarray:
    """The number that a jaxpr has in place of a variable, in the dtype that it is traced with."""
    aval = literal.aval
    assert isinstance(aval, jax.core.ShapedArray)
    return np.asarray(literal.val, aval.dtype)


def opened(jaxpr: Any) -> Any:
    """A jaxpr without its constants, whether it was closed over some or not."""
    return getattr(jaxpr, "jaxpr", jaxpr)
