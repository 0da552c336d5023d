"""The files of the package are parsed once."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.syntax import nodes

FOLDER = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One worker runs all tests of the folder, as they share the syntax trees."""
    for item in items:
        if item.path.parent == FOLDER:
            item.add_marker(pytest.mark.xdist_group("architecture"))


@pytest.fixture(scope="package", autouse=True)
def _syntax_trees() -> Iterator[None]:
    """A million nodes: no garbage to be looked for while they are made, and none left for other tests."""
    gc.disable()
    yield
    nodes.cache_clear()
    gc.enable()
