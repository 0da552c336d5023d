"""JAX's behaviour when a process ends or forks, and its reports of failed callbacks."""

from __future__ import annotations

import atexit
import logging
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any


def clients() -> list[Any] | None:
    """XLA's clients that this process has made; None where JAX keeps them elsewhere."""
    try:
        from jax._src import xla_bridge

        return list(xla_bridge._backends.values())
    except (ImportError, AttributeError):
        return None


def locks_of_clients() -> list[Any]:
    """The locks that JAX holds while it makes clients, in the order of taking; none if it has others."""
    try:
        from jax._src import xla_bridge

        return [xla_bridge._plugin_lock, xla_bridge._backend_lock]
    except (ImportError, AttributeError):
        return []


def leave_clients() -> bool:
    """Take off JAX's exit handlers, which wait for clients; whether this JAX has them."""
    try:
        from jax._src import api, dispatch

        atexit.unregister(dispatch.wait_for_tokens)
        atexit.unregister(api.clean_up)
    except (ImportError, AttributeError):
        return False
    return True


def hide_fork_warning() -> None:
    """Hide JAX's warning that a forked process is likely to hang: what mixnet computes there does not."""
    warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)


def forget_failed_callback() -> None:
    """Keep JAX from telling it again when the process ends, if this JAX lets us."""
    with suppress(ImportError, AttributeError):
        from jax._src.dispatch import runtime_tokens

        runtime_tokens.clear()


def filter_callback_errors(is_news: Callable[[logging.LogRecord], bool]) -> None:
    """Let JAX log only those errors of callbacks for which ``is_news`` is true.

    With a logger of another name JAX logs all of them, those too that are raised at the reader.
    """
    logging.getLogger("jax._src.callback").addFilter(is_news)
