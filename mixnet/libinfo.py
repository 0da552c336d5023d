"""``mx.libinfo``: the MXNet version whose interface this is, and the location of the library."""

from __future__ import annotations

import logging
import os
import platform

# Of MXNet: programs compare it to know what they may call.
__version__ = "1.9.1"
_PACKAGE_VERSION = "0.1.0"  # of mixnet itself


def find_lib_path(prefix: str = "libmxnet") -> list[str]:
    """Paths of the compiled library: XLA's, in the package jaxlib; mixnet has none of its own.

    Raises:
        RuntimeError: a library of another ``prefix``.
    """
    import jaxlib

    if prefix != "libmxnet":
        raise RuntimeError(f"There is no library {prefix!r}: mixnet is written in Python, on XLA.")
    folder = os.path.dirname(os.path.abspath(jaxlib.__file__))
    return [os.path.join(folder, each) for each in sorted(os.listdir(folder)) if "_jax" in each]


def find_include_path() -> str:
    """Folder of the C headers.

    Raises:
        RuntimeError: always, there are none.
    """
    raise RuntimeError(
        "mixnet has no C headers. Operators are JAX functions: mx.ops.register takes them; see "
        "docs/concepts/operators.md."
    )


def find_conf_path(prefix: str = "tvmop") -> str:
    """Path of the configuration of TVM operators.

    Raises:
        RuntimeError: always, there are none.
    """
    raise RuntimeError(f"There is no {prefix}.conf: operators are compiled by XLA, not by TVM.")


# What `import *` brings: what MXNet's module brings.
__all__ = [
    "find_conf_path",
    "find_include_path",
    "find_lib_path",
    "logging",
    "os",
    "platform",
]
