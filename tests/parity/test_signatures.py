"""Every operator has MXNet's names: aliases, inputs in order, attributes, defaults, outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mixnet.base import MXNetError
from mixnet.ops import OPERATORS
from tests.each_record import each_record

FACTS = json.loads((Path(__file__).parent / "fixtures" / "signatures.json").read_text())["ops"]
# docs/from-mxnet.md has the reasons.
LEFT_OUT = {name for name in FACTS if name.startswith("_contrib_dgl")} | {"_contrib_edge_id"}
NAMES = sorted(set(FACTS) - LEFT_OUT)


@each_record("name", NAMES)
def test_signatures_are_mxnets(name: str) -> None:
    fact, op = FACTS[name], OPERATORS.get(name)
    assert op is not None, "there is no such operator"
    if name == "_npi_concatenate":
        fact["attrs"].pop("dim", None)  # registered, but what MXNet writes to files is "axis"
    if name == "_contrib_SparseEmbedding":
        fact["attrs"].pop("sparse_grad", None)  # listed, but what MXNet takes is "deterministic"
    if name in ("_linalg_det", "_linalg_slogdet"):
        # Those of mx.np return arrays without axes, so they are separate operators.
        fact["aliases"] = []
    assert [alias for alias in fact["aliases"] if OPERATORS.get(alias) is not op] == []
    if op.variadic:
        # An attribute counts the inputs, unless each of them comes with others.
        assert fact["variadic"] in (op.num_args, None, *op.attributes)
    elif not fact["variadic"]:
        assert list(op.arrays)[: len(fact["inputs"])] == fact["inputs"]
    ours = {each: op.attributes[each] for each in op.attributes}
    counted = {fact["variadic"], op.num_args}
    missing = [each for each in fact["attrs"] if each not in ours and each not in counted]
    assert missing == []
    order = [each for each in op.attributes if each in fact["attrs"]]
    assert order == [each for each in fact["attrs"] if each in ours]
    for each, default in fact["attrs"].items():
        if each in ours:
            _compare_default(ours[each], default, op.name)


def _compare_default(attribute: Any, default: Any, op: str) -> None:
    if default == ["required"]:
        assert attribute.required or attribute.default is None, attribute.name
        return
    if default is None:
        return  # MXNet tells no default
    assert not attribute.required, f"{attribute.name} has a default, {default!r}"
    if isinstance(default, list):
        default = tuple(default)
    try:
        expected = attribute.parse(default, op)
    except MXNetError:
        expected = default
    actual = attribute.parse(attribute.default, op)
    if isinstance(expected, float) and isinstance(actual, (int, float)):
        assert actual == pytest.approx(expected, rel=1e-6), attribute.name
    elif expected not in ((), None, "None") or actual not in ((), None, "None"):
        assert actual == expected, attribute.name


def _outputs(name: str) -> list[str] | None:
    fact, op = FACTS[name], OPERATORS.get(name)
    if op is None or not fact["outputs"] or op.variadic:
        return None
    try:
        own = {k: v for k, v in (fact["with"] or {}).items() if k in op.attributes}
        statics, _ = op.bind(own)
        count = op.num_visible(statics, len(fact["inputs"]))
    except MXNetError:
        return None
    names = op.output_names(statics)
    if len(names) > 1:
        return list(names[:count])
    plain = names[0]
    return [plain] if count == 1 else [f"{plain.removesuffix('0')}{i}" for i in range(count)]


@each_record("name", [name for name in NAMES if _outputs(name) is not None])
def test_outputs_have_mxnets_names(name: str) -> None:
    assert _outputs(name) == FACTS[name]["outputs"]
