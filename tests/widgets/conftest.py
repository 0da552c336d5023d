"""Names of networks start again in every test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import mixnet as mx


@pytest.fixture(autouse=True)
def _names() -> Iterator[None]:
    with mx.name.NameManager():
        yield
