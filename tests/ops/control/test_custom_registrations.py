"""Registering an operator in Python again and again, as cells of notebooks do."""

from __future__ import annotations

import gc
import weakref

import mixnet as mx


def test_an_earlier_registration_is_forgotten() -> None:
    def register() -> weakref.ref[type]:
        @mx.operator.register("registered_again")
        class Prop(mx.operator.CustomOpProp):
            def list_arguments(self):
                return ["data"]

        symbol = mx.sym.Custom(mx.sym.var("data"), op_type="registered_again")
        assert symbol.list_arguments() == ["data"]
        return weakref.ref(Prop)

    earlier = register()
    latest = register()
    gc.collect()
    assert earlier() is None and latest() is not None
