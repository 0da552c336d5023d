"""Compiled programs: calling them without Python overhead, and JAX's cache of them on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax


def bare_call(compiled: Any) -> Callable[..., Any]:
    """The function in C of a compiled program, which JAX would make when it is first called.

    Python takes an interrupt between two calls of Python code: one function in C either has not run or has
    returned what it computed. If this JAX has none, the program itself.
    """
    try:
        fast_call: Callable[..., Any] | None = compiled._executable.create_cpp_call(
            compiled._params
        )
    except (AttributeError, TypeError):
        fast_call = None
    return fast_call or compiled


_Bare: type = type(jax.jit(abs))


def is_bare_call(function: object) -> bool:
    """Whether a function is one in C, as ``bare_call`` returns it."""
    return type(function) is _Bare


def keep_files_by(folder: str, make: Callable[[], Any]) -> bool:
    """Let ``make()`` keep JAX's compiled programs of ``folder``, in place of JAX's own files.

    JAX has no switch for it. Where it keeps them in another way than is known here, it goes on doing so.

    Returns:
        Whether it is so now.
    """
    try:
        from jax._src import compilation_cache

        original = compilation_cache.get_file_cache
    except (ImportError, AttributeError):
        return False

    def get_file_cache(path: str) -> Any:
        if path != folder:
            return original(path)
        return make(), path

    compilation_cache.get_file_cache = get_file_cache
    return True
