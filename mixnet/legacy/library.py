"""``mx.library``: user-defined backends; MXNet's compiled operator libraries cannot be loaded."""

from __future__ import annotations

import os

from mixnet.base import MXNetError
from mixnet.symbol.backend import Backend as Backend
from mixnet.symbol.backend import register_backend as register_backend


def load(path: str, verbose: bool = True) -> None:
    """Load a library of operators.

    Args:
        path: of the library.
        verbose: whether its operators are printed.

    Raises:
        MXNetError: always. The library does not exist; or it is compiled against MXNet.
    """
    if not os.path.exists(path):
        raise MXNetError(f"load: {path} does not exist.")
    raise MXNetError(
        f"load: {path} is compiled against MXNet's C interface, which mixnet does not have. Write the "
        f"operator as a JAX function and register it with mx.ops.register, or call C from an "
        f"mx.operator.CustomOp."
    )
