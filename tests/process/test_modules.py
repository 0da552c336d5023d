"""Modules of a special type can be pickled."""

from __future__ import annotations

import copy
import pickle

import pytest

import mixnet as mx
import mixnet.stages
import mixnet.widgets.why
from mixnet import nd


@pytest.mark.parametrize(
    "name", ["nd", "sym", "nd.contrib", "sym.contrib", "nd.linalg", "stages", "why", "look"]
)
def test_a_pickle_of_a_module_is_its_name(name: str) -> None:
    module = mx
    for part in name.split("."):
        module = getattr(module, part)
    assert pickle.loads(pickle.dumps(module)) is module and copy.deepcopy(module) is module


def test_functions_that_use_modules_can_be_pickled() -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    program = {"nd": nd, "mx": mx, "__name__": "__main__"}
    exec("def twice(x):\n    return 2 * nd.relu(x) + mx.sym.contrib.__name__.count('z')", program)
    sent = cloudpickle.loads(cloudpickle.dumps(program["twice"]))
    assert sent(nd.array([-1, 3])).asnumpy().tolist() == [0, 6]
