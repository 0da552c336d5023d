"""Syntax trees of all files are shared by the tests of this folder, and dropped after them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.architecture.syntax import nodes


@pytest.fixture(scope="package", autouse=True)
def _syntax_trees() -> Iterator[None]:
    yield
    nodes.cache_clear()  # hundreds of megabytes
