"""Tests that run in a separate thread."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from typing import Any


def in_own_thread(test: Callable[..., None]) -> Callable[..., None]:
    """Decorator for a test that starts Playwright, of which a thread can run only one at a time.

    The browser of ``tests/ui`` stays open in its worker until the last test.
    """

    @wraps(test)
    def run(*arguments: Any, **fixtures: Any) -> None:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(test, *arguments, **fixtures).result()

    return run
