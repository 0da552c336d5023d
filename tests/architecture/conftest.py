"""Syntax trees of all files are shared by the tests of this folder, and dropped after them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mixnet.process.collector import collector_paused
from tests.architecture.syntax import nodes


@pytest.fixture(scope="package", autouse=True)
def _syntax_trees() -> Iterator[None]:
    with collector_paused():  # it would look through all of them again and again
        yield
    nodes.cache_clear()  # hundreds of megabytes
