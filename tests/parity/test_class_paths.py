"""The path of each class of MXNet 1.9.1, as its pickles and programs name it, leads to mixnet's class."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import mixnet as mx
from tests.each_record import each_record

PATHS = json.loads(Path(__file__).with_name("fixtures").joinpath("class_paths.json").read_text())


@each_record("module", PATHS)
def test_classes_have_mxnets_paths(module: str) -> None:
    holder = importlib.import_module(module.replace("mxnet", mx.__name__, 1))
    missing = [name for name in PATHS[module] if not isinstance(getattr(holder, name, None), type)]
    assert not missing
