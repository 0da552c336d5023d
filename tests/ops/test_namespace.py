"""Operators are functions of ``mx.nd`` and ``mx.sym``, whatever the modules in these packages are called."""

import numpy as np
import pytest

import mixnet as mx


@pytest.mark.parametrize("name", ["steps", "update", "create", "display"])
def test_an_operator_may_be_called_as_a_module_is(name: str) -> None:
    def threefold(data):
        """Three times ``data``."""
        return 3 * data

    from mixnet.ndarray import update  # noqa: F401  # importing a module binds it in its package

    mx.ops.register(name)(threefold)
    try:
        np.testing.assert_array_equal(getattr(mx.nd, name)(mx.nd.ones(2)).asnumpy(), [3, 3])
        assert getattr(mx.sym, name)(mx.sym.Variable("x")).list_arguments() == ["x"]
    finally:
        mx.ops.OPERATORS.pop(name)


def test_a_star_brings_operators_and_no_modules_of_the_project() -> None:
    names: dict = {}
    exec("from mixnet.ndarray import *", names)
    assert "relu" in names and "NDArray" in names
    assert not {"steps", "update", "display", "create", "invoke"} & names.keys()
