"""Helpers of mx.util."""

from __future__ import annotations

import inspect

import pytest

import mixnet as mx
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


def test_use_np_of_a_class_covers_inherited_methods() -> None:
    """``initialize`` and calls of a block are inside, too: its parameters are ``mx.np`` arrays."""

    @mx.util.use_np
    class Layer(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.dense = mx.gluon.nn.Dense(2, in_units=2)
            self.scale = self.params.get("scale", shape=(2,))

        def hybrid_forward(self, F, x, scale):
            return F.np.abs(self.dense(x)) * scale

    class Derived(Layer):
        pass

    for kind in (Layer, Derived):
        layer = kind()
        layer.initialize(mx.init.One())
        for hybridized in (False, True):
            layer.hybridize(hybridized)
            result = layer(mx.np.ones((1, 2)))
            assert isinstance(result, mx.np.ndarray)
            assert result.asnumpy().tolist() == [[2, 2]]
        assert isinstance(layer.dense.weight.data(), mx.np.ndarray)
    assert not mx.util.is_np_array()
