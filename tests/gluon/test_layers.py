"""Every layer of ``gluon.nn`` and ``gluon.contrib``: names, shapes, text and results of MXNet's."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import mixnet as mx
from mixnet import nd
from mixnet.gluon import nn
from mixnet.gluon.contrib import cnn as ccnn
from mixnet.gluon.contrib import nn as cnn

FIXTURES = Path(__file__).parents[1] / "parity" / "fixtures"
LAYERS = [
    each
    for each in json.loads((FIXTURES / "gluon_layers.json").read_text())["layers"]
    if re.match(r"(nn|cnn|ccnn)\.\w+\(.*\)$", each["code"]) and " with" not in each["code"]
]


def shapes(params: Any) -> dict[str, list[int]]:
    return {name: list(each.shape) for name, each in params.items()}


@pytest.mark.parametrize("fact", LAYERS, ids=lambda fact: fact["code"])
def test_names_shapes_and_text(fact: dict) -> None:
    names = {"nn": nn, "cnn": cnn, "ccnn": ccnn}
    with mx.name.NameManager():
        layer = eval(fact["code"], names)
    layer.initialize()
    x = nd.ones(tuple(fact["input"]))
    if "raises" in fact:
        with pytest.raises(RuntimeError, match="no Trainer"):
            layer(x)
        return
    assert layer.prefix == fact["prefix"]
    assert repr(layer) == fact["repr_before"]
    assert shapes(layer.collect_params()) == fact["params_before"]
    assert list(layer(x).shape) == fact["output"]
    assert list(layer.collect_params()) == list(fact["params"])
    assert shapes(layer.collect_params()) == fact["params"]
    assert sorted(layer._collect_params_with_prefix()) == fact["save_names"]
    assert repr(layer) == fact["repr_after"]
    for name, facts in fact["param_facts"].items():
        each = layer.collect_params()[name]
        init = each.init if isinstance(each.init, str) else type(each.init).__name__
        found = {"grad_req": each.grad_req, "init": init, "differentiable": each._differentiable}
        assert found == facts
