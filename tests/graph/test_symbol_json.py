"""Symbol files that are not complete graphs: the error names the wrong part."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mixnet as mx
from mixnet.base import FileFormatError, MXNetError
from tests.each_record import each_record

FIXTURES = Path(__file__).parents[1] / "parity" / "fixtures"


def network() -> dict[str, Any]:
    data = mx.sym.var("data", shape=(2, 3))
    net = mx.sym.FullyConnected(data, num_hidden=4, name="dense")
    first, second = mx.sym.split(net, num_outputs=2, name="split")
    return json.loads(mx.sym.Concat(first, second, name="join").tojson())


def changed(change: Callable[[dict[str, Any]], Any]) -> str:
    whole = copy.deepcopy(network())
    change(whole)
    return json.dumps(whole)


def at(node: int, **fields: Any) -> Callable[[dict[str, Any]], None]:
    return lambda whole: whole["nodes"][node].update(fields)


CASES = {
    "name": (at(0, name=[1]), r"node 0: 'name' is not text, but \[1\]"),
    "op": (at(3, op=None), "node 3: 'op' is not text, but None"),
    "node": (lambda whole: whole["nodes"].insert(2, 7), "node 2: 7 is not a JSON object"),
    "inputs": (at(3, inputs={}), r"node 3 \(FullyConnected 'dense'\): 'inputs' is not a list"),
    "entry": (at(4, inputs=[[3]]), r"'split'\): an entry is \[node, output, version\], not \[3\]"),
    "far": (at(3, inputs=[[9, 0, 0]] * 3), r"9 is not a number from 0 to 2"),
    "itself": (at(3, inputs=[[3, 0, 0]] * 3), r"3 is not a number from 0 to 2"),
    "negative": (at(3, inputs=[[-1, 0, 0]] * 3), r"-1 is not a number from 0 to 2"),
    "fraction": (at(3, inputs=[[0.5, 0, 0]] * 3), r"0.5 is not a number"),
    "output": (at(5, inputs=[[4, 2, 0], [4, 1, 0]]), r"2 is not a number from 0 to 1"),
    "attributes": (at(3, attrs=["a"]), "'attrs' is not a JSON object"),
    "value": (at(3, attrs={"num_hidden": 4}), "attribute 'num_hidden' is not text, but 4"),
    "heads": (lambda whole: whole.pop("heads"), "the heads: 'heads' is not a list"),
    "no heads": (lambda whole: whole.update(heads=[]), "the heads: there are none"),
    "far head": (lambda whole: whole.update(heads=[[60, 0, 0]]), "60 is not a number from 0 to 5"),
    "fed variable": (at(1, inputs=[[0, 0, 0]]), "a variable has no inputs"),
    "few": (
        at(3, inputs=[[0, 0, 0]]),
        "'dense': FullyConnected takes data, weight, bias; the file gives it 1",
    ),
    "many": (
        at(4, inputs=[[3, 0, 0]] * 2),
        "'split': SliceChannel takes data; the file gives it 2",
    ),
    "counted": (
        at(5, attrs={"num_args": "3"}),
        "'join': Concat takes 3 inputs; the file gives it 2",
    ),
    "nodes": (lambda whole: whole.pop("nodes"), "it has no list 'nodes'"),
}


@each_record("case", CASES)
def test_errors_name_the_wrong_node(case: str) -> None:
    change, message = CASES[case]
    with pytest.raises(FileFormatError, match=message):
        mx.sym.load_json(changed(change))


@pytest.mark.parametrize(
    "attrs", [{"num_hidden": "(1"}, {"num_hidden": "9" * 5000}, {"no_bias": "maybe"}, {}]
)
def test_attributes_that_the_operator_does_not_take(attrs: dict[str, str]) -> None:
    with pytest.raises(MXNetError, match="Node 'dense': FullyConnected: attribute"):
        mx.sym.load_json(changed(at(3, attrs=attrs)))


@pytest.mark.parametrize(
    "text", ["(2, 3", "[[[", "(2.5,)", "x", "(-2,)", "(99999999999999999999,)", "("]
)
def test_invalid_shapes_of_variables_are_errors(text: str) -> None:
    loaded = mx.sym.load_json(changed(at(0, attrs={"__shape__": text})))
    with pytest.raises(MXNetError, match="Variable 'data': its attribute __shape__="):
        loaded.infer_shape()
    for good in ("(2, 3)", "[2L, 3L]", "(0, 3)", "(-1, 3)"):
        assert mx.sym.load_json(changed(at(0, attrs={"__shape__": good}))).infer_shape_partial()[0]


def test_invalid_dtypes_of_variables_are_errors() -> None:
    for text in ("junk", "f4,i4", "(2,)f4", "O", "99"):
        loaded = mx.sym.load_json(changed(at(0, attrs={"__dtype__": text})))
        with pytest.raises(MXNetError, match="Variable 'data': its attribute __dtype__"):
            loaded.infer_type()


def test_invalid_factors_and_initializers_are_errors() -> None:
    module = mx.mod.Module(
        mx.sym.load_json(changed(at(1, attrs={"__init__": '["zero"', "__lr_mult__": "x"}))),
        label_names=None,
    )
    module.bind(data_shapes=[("data", (2, 3))])
    with pytest.raises(MXNetError, match=r"not JSON of a name and a dict of arguments"):
        module.init_params()
    with pytest.raises(MXNetError, match="Variable 'dense_weight': its attribute __lr_mult__='x'"):
        mx.optimizer.SGD(sym=module.symbol, param_idx2name={0: "dense_weight"})


def test_deeply_nested_json_is_an_error() -> None:
    for text in (
        "[" * 100_000,
        '{"nodes":' * 100_000,
        '{"nodes": [' + "[" * 5000 + "]" * 5000 + "]}",
    ):
        with pytest.raises(FileFormatError):
            mx.sym.load_json(text)
    whole = json.loads((FIXTURES / "foreach-symbol.json").read_text())
    (loop,) = [node for node in whole["nodes"] if node["op"] == "_foreach"]
    innermost, loop["subgraphs"][0] = json.dumps(loop["subgraphs"][0]), "inner"
    text = innermost
    for _ in range(400):
        text = json.dumps(whole).replace('"inner"', text)
    with pytest.raises(FileFormatError):
        mx.sym.load_json(text)


def test_invalid_bodies_of_loops_are_errors() -> None:
    whole = json.loads((FIXTURES / "foreach-symbol.json").read_text())
    for places, message in (
        ([99], "not a number from 0"),
        ([], "variables are missing"),
        (3, "not a list"),
    ):
        broken = copy.deepcopy(whole)
        (loop,) = [node for node in broken["nodes"] if node["op"] == "_foreach"]
        loop["subgraphs"][0]["arg_nodes"] = places
        with pytest.raises(FileFormatError, match=f"'_foreach0'.*'arg_nodes'.*{message}"):
            mx.sym.load_json(json.dumps(broken))


def test_invalid_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'{"nodes": [\xff]}')
    with pytest.raises(FileFormatError, match=r"a.json: byte 11 is 0xff"):
        mx.sym.load(tmp_path / "a.json")
    (tmp_path / "b.json").write_text('{"nodes": [' + "9" * 5000 + "]}")
    with pytest.raises(FileFormatError, match=r"b.json is not a symbol file: Exceeds the limit"):
        mx.sym.load(tmp_path / "b.json")


def written_by(version: int, op: str, attributes: dict[str, str], inputs: list[str]) -> str:
    """A file of an operator on variables, as MXNet of that version wrote it."""
    nodes: list[dict[str, Any]] = [{"op": "null", "name": name, "inputs": []} for name in inputs]
    entries = [[i, 0] for i in range(len(inputs))]
    nodes.append({"op": op, "name": "out", "param": attributes, "inputs": entries})
    graph = {"nodes": nodes, "arg_nodes": [*range(len(inputs))], "heads": [[len(inputs), 0]]}
    stated = {"attrs": {"mxnet_version": ["int", version]}} if version >= 900 else {}
    return json.dumps(graph | stated)


@each_record(
    ("version", "shape"), [(800, (1,)), (900, (1,)), (904, (1,)), (905, (2,)), (10901, (2,))]
)
@each_record("op", ["argmax", "argmin"])
def test_axis_of_argmax_in_old_files_means_all_axes(
    op: str, version: int, shape: tuple[int, ...]
) -> None:
    """Up to 0.9.4, -1 was the default and stood for all axes."""
    symbol = mx.sym.load_json(written_by(version, op, {"axis": "-1"}, ["data"]))
    value = mx.nd.array([[1, 5, 2], [7, 3, 4]])
    assert symbol.eval(data=value)[0].shape == shape


def test_files_from_before_0_9_leave_out_variables() -> None:
    old = mx.sym.load_json(written_by(800, "FullyConnected", {"num_hidden": "2"}, ["data"]))
    assert old.list_arguments() == ["data", "out_weight", "out_bias"]
    without = {"num_hidden": "2", "no_bias": "True"}
    old = mx.sym.load_json(written_by(800, "FullyConnected", without, ["data"]))
    assert old.list_arguments() == ["data", "out_weight"]
    old = mx.sym.load_json(written_by(800, "BatchNorm", {}, ["data"]))
    assert old.list_auxiliary_states() == ["out_moving_mean", "out_moving_var"]
    with pytest.raises(FileFormatError, match="takes data, weight, bias; the file gives it 1"):
        mx.sym.load_json(written_by(904, "FullyConnected", {"num_hidden": "2"}, ["data"]))


@each_record(
    ("op", "attribute", "version", "is_read"),
    [  # as MXNet 1.9.1 answers
        ("Activation", "foo", 10901, False),
        ("Activation", "foo", 800, False),
        ("Activation", "__foo__", 10901, True),
        ("Activation", "lr_mult", 10901, False),
        ("Activation", "lr_mult", 10000, True),
        ("Activation", "ctx_group", 800, True),
        ("Activation", "weight_lr_mult", 800, False),
        ("exp", "foo", 10901, True),
        ("BlockGrad", "foo", 800, True),
        ("_mul_scalar", "foo", 10901, False),
    ],
)
def test_attributes_that_the_operator_does_not_have(
    op: str, attribute: str, version: int, is_read: bool
) -> None:
    needed = {"Activation": {"act_type": "relu"}, "_mul_scalar": {"scalar": "2"}}
    text = written_by(version, op, {**needed.get(op, {}), attribute: "1"}, ["data"])
    if is_read:
        assert mx.sym.load_json(text).list_arguments() == ["data"]
    else:
        with pytest.raises(MXNetError, match=rf"Node 'out': .*{attribute}"):
            mx.sym.load_json(text)


def test_hidden_outputs_are_counted() -> None:
    """Numbers of MXNet 1.9.1."""
    x = mx.sym.Variable("x")
    cases = [
        (mx.sym.Dropout(x, p=0.5), 2),
        (mx.sym.Pooling(x, kernel=(2, 2)), 2),
        (mx.sym.Pooling(x, kernel=(2, 2), pool_type="avg"), 1),
        (mx.sym.Pooling(x, kernel=(2, 2), layout="NHWC"), 1),
        (mx.sym.LRN(x, nsize=3), 2),
        (mx.sym.sort(x), 2),
        (mx.sym.topk(x, k=1, ret_typ="value"), 2),
        (mx.sym.topk(x, k=1), 1),
        (mx.sym.LeakyReLU(x, act_type="rrelu"), 2),
        (mx.sym.LeakyReLU(x), 1),
        (mx.sym.linalg.slogdet(x), 4),
    ]
    for symbol, outputs in cases:
        assert json.loads(symbol.tojson())["node_row_ptr"] == [0, 1, 1 + outputs]


def test_casts_of_outputs_are_preserved() -> None:
    x = mx.sym.Variable("x")
    relu = mx.sym.relu(mx.sym.amp_cast(x, dtype="float16", name="half"), name="relu")
    whole = mx.sym.amp_cast(relu, dtype="float32", name="whole")
    both = mx.sym.Group([whole, mx.sym.exp(whole, name="exp")])
    nodes = json.loads(both.tojson())["nodes"]
    assert [(each["name"], each["inputs"]) for each in nodes] == [
        ("x", []),
        ("relu", [[0, 0, 0]]),
        ("whole", [[1, 0, 0]]),
        ("exp", [[1, 0, 0]]),
    ]
