"""Helpers of mx.util."""

from __future__ import annotations

import inspect

import pytest

from mixnet.util import with_defaults


class Base:
    def __init__(self, a: int, b: int, c: int = 3):
        super().__init__()
        self.all = (a, b, c)


class Other(Base):
    __init__ = with_defaults(Base.__init__, b=20, c=30)


def test_with_defaults_changes_defaults_alone() -> None:
    assert Other(1).all == (1, 20, 30) and Other(1, 2, c=5).all == (1, 2, 5)
    assert Base(1, 2).all == (1, 2, 3)
    assert str(inspect.signature(Other)) == "(a: 'int', b: 'int' = 20, c: 'int' = 30)"


def test_with_defaults_refuses() -> None:
    with pytest.raises(TypeError, match=r"has no parameter \['d'\]"):
        with_defaults(Base.__init__, d=1)
    with pytest.raises(ValueError, match="default"):
        with_defaults(Base.__init__, a=1)
