"""Files of networks: written as MXNet writes them, and read back."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import mixnet as mx
from mixnet import gluon, nd
from mixnet.gluon import nn

FIXTURES = Path(__file__).parents[1] / "parity" / "fixtures"


class Net(nn.HybridBlock):
    """The network of ``gluon_conv``."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="feat_")
            with self.features.name_scope():
                self.features.add(
                    nn.Conv2D(4, 3, padding=1), nn.BatchNorm(), nn.Activation("relu"),
                    nn.MaxPool2D(), nn.Flatten(),
                )  # fmt: skip
            self.output = nn.Dense(3)
            self.scale = self.params.get("scale", shape=(1, 3), init="ones")

    def hybrid_forward(self, F, x, scale):
        return F.broadcast_mul(self.output(self.features(x)), scale)


def loaded() -> tuple[Net, dict]:
    stored = np.load(FIXTURES / "gluon_conv-io.npz")
    net = Net(prefix="net_")
    net.load_parameters(str(FIXTURES / "gluon_conv-save_parameters.params"))
    net.hybridize()
    return net, stored


def test_exported_files_are_mxnets(tmp_path: Path) -> None:
    net, stored = loaded()
    actual = net(nd.array(stored["in:0"]))
    np.testing.assert_allclose(actual.asnumpy(), stored["out:0"], rtol=1e-4, atol=1e-5)
    symbol_file, params_file = net.export(str(tmp_path / "net"))
    ours = json.loads(Path(symbol_file).read_text())
    theirs = json.loads((FIXTURES / "gluon_conv-symbol.json").read_text())
    for each in (*ours["nodes"], *theirs["nodes"]):  # how often a state was written is no matter
        each["inputs"] = [entry[:2] for entry in each["inputs"]]
        each.get("attrs", {}).pop("__shape__", None)  # as far as it was known by then
    assert ours["nodes"] == theirs["nodes"]
    assert ours["heads"] == theirs["heads"] and ours["arg_nodes"] == theirs["arg_nodes"]
    content = Path(params_file).read_bytes()
    assert content == (FIXTURES / "gluon_conv-0000.params").read_bytes()
    net.save_parameters(str(tmp_path / "net.params"))
    content = (tmp_path / "net.params").read_bytes()
    assert content == (FIXTURES / "gluon_conv-save_parameters.params").read_bytes()


def test_the_text_is_laid_out_as_mxnets() -> None:
    theirs = (FIXTURES / "gluon_conv-symbol.json").read_text()
    ours = mx.sym.load(str(FIXTURES / "gluon_conv-symbol.json")).tojson()
    begin = theirs.index('"name": "net_feat_batchnorm0_fwd"')
    assert ours[:begin] == theirs[:begin] and '"attrs": {"act_type": "relu"}, \n' in ours


def test_a_network_runs_without_its_code(tmp_path: Path) -> None:
    net, stored = loaded()
    x = nd.array(stored["in:0"])
    net(x)
    symbol_file, params_file = net.export(str(tmp_path / "net"), epoch=7)
    assert params_file.endswith("net-0007.params")
    block = gluon.SymbolBlock.imports(symbol_file, "data", params_file)
    np.testing.assert_allclose(block(x).asnumpy(), stored["out:0"], rtol=1e-4, atol=1e-5)
    assert repr(block) == "SymbolBlock(\n<Symbol net_broadcast_mul0> : 1 -> 1\n)"
    assert block.prefix == "" and block.name.startswith("symbolblock")
    with pytest.raises(AssertionError, match="no input 'date'"):
        gluon.SymbolBlock.imports(symbol_file, ["date"], params_file)
    unreported = gluon.SymbolBlock.imports(symbol_file, ["data"])
    with pytest.raises(RuntimeError, match="has not been initialized"):
        unreported(x)


def test_unread_inputs_cause_a_warning(tmp_path: Path) -> None:
    layer = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    layer.save(str(tmp_path / "net.json"))
    values = {"arg:fc_weight": nd.ones((2, 3)), "arg:fc_bias": nd.ones((2,))}
    nd.save(str(tmp_path / "net.params"), values)
    files = str(tmp_path / "net.json"), str(tmp_path / "net.params")
    with pytest.warns(UserWarning, match="Input length is not used"):
        block = gluon.SymbolBlock.imports(files[0], ["data", "length"], files[1])
    assert block(nd.ones((1, 3)), nd.ones((1,))).asnumpy().tolist() == [[4, 4]]
    for names in (["dta", "fc_weight"], ["dta"]):  # the file has no 'data'
        with pytest.raises(AssertionError, match="no input 'dta'; it has data, fc_weight"):
            gluon.SymbolBlock.imports(files[0], names, files[1])


def test_inner_layers_of_a_trained_network_can_be_reused() -> None:
    net, stored = loaded()
    x = nd.array(stored["in:0"])
    data = mx.sym.var("data")
    inner = net(data).get_internals()["net_feat_relu0_fwd_output"]
    block = gluon.SymbolBlock([inner, net(data)], data, params=net.collect_params())
    features, output = block(x)
    assert features.shape == (2, 4, 8, 8) and (features.asnumpy() >= 0).all()
    np.testing.assert_allclose(output.asnumpy(), stored["out:0"], rtol=1e-4, atol=1e-5)
    assert block.collect_params()["net_scale"] is net.scale
    with pytest.raises(AssertionError, match="is the output of operators"):
        gluon.SymbolBlock(inner, inner)


def test_a_symbol_block_trains_inside_a_network() -> None:
    data = mx.sym.var("data")
    hidden = mx.sym.FullyConnected(data, num_hidden=4, name="fc")
    net = nn.HybridSequential()
    net.add(gluon.SymbolBlock(mx.sym.relu(hidden), data), nn.Dense(2))
    net.initialize(mx.init.One())
    x = nd.ones((2, 3))
    expected = net(x).asnumpy()
    net.hybridize()
    np.testing.assert_allclose(net(x).asnumpy(), expected)
    assert sorted(net._collect_params_with_prefix()) == ["0.bias", "0.weight", "1.bias", "1.weight"]


def test_export_needs_a_graph(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="call it with data first"):
        nn.Dense(1, in_units=2).export(str(tmp_path / "x"))


def shared() -> gluon.Block:
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(3, in_units=3))
        net.add(nn.Dense(3, in_units=3, params=net[0].params))
    return net


def test_shared_parameters_are_written_once(tmp_path: Path) -> None:
    net = shared()
    net.initialize()
    path = str(tmp_path / "a.params")
    net.save_parameters(path)
    assert list(nd.load(path)) == ["0.weight", "0.bias", "1.weight", "1.bias"]
    net.save_parameters(path, deduplicate=True)
    assert list(nd.load(path)) == ["1.weight", "1.bias"]
    other = shared()
    other.load_parameters(path)
    np.testing.assert_array_equal(other[0].weight.data().asnumpy(), net[0].weight.data().asnumpy())


def test_files_are_loaded_into_other_dtypes_and_contexts(tmp_path: Path) -> None:
    path = str(tmp_path / "a.params")
    net = nn.Dense(3, in_units=2)
    net.initialize()
    net.save_parameters(path)

    def other(**kwargs):
        dense = nn.Dense(3, in_units=2, dtype="float16")
        dense.load_parameters(path, **kwargs)
        return dense

    with pytest.raises(AssertionError, match="cast_dtype=True"):
        other()
    assert other(cast_dtype=True).weight.data().dtype == np.float16
    assert other(cast_dtype=True, dtype_source="saved").weight.data().dtype == np.float32
    with pytest.raises(AssertionError, match="'current' or 'saved'"):
        other(cast_dtype=True, dtype_source="mine")
    assert other(cast_dtype=True, ctx=mx.cpu(0)).weight.list_ctx() == [mx.cpu(0)]


def test_a_missing_file_of_parameters_is_a_value_error(tmp_path: Path) -> None:
    """MXNet 1.9.1 raises ValueError there, MXNetError elsewhere."""
    with pytest.raises(ValueError, match="couldn't open file"):
        nn.Dense(3).load_parameters(str(tmp_path / "none.params"))
    with pytest.raises(mx.MXNetError):
        nd.load(str(tmp_path / "none.params"))


def test_files_that_do_not_fit(tmp_path: Path) -> None:
    path = str(tmp_path / "a.params")
    net = nn.Dense(3, in_units=3, prefix="d_")
    nd.save(path, {"weight": nd.ones((3, 3)), "bias": nd.ones((3,)), "more": nd.ones((1,))})
    with pytest.raises(AssertionError, match="has 'd_more', which the network does not"):
        net.load_parameters(path)
    net.load_parameters(path, ignore_extra=True)
    nd.save(path, {"a.weight": nd.ones((3, 3))})
    with pytest.raises(ValueError, match=r"has 'a.weight', which the network does not"):
        net.load_parameters(path, allow_missing=True)
    with pytest.raises(AssertionError, match="'weight' is missing"):
        net.load_parameters(path, ignore_extra=True)
    nd.save(path, [nd.ones((3, 3))])
    with pytest.raises(AssertionError, match="without names"):
        net.load_parameters(path)


def test_a_dictionary_of_parameters_is_saved_and_loaded(tmp_path: Path) -> None:
    path = str(tmp_path / "a.params")
    net = shared()
    net.initialize()
    net.collect_params().save(path, strip_prefix="net_")
    assert list(nd.load(path)) == ["dense0_weight", "dense0_bias"]
    with pytest.raises(ValueError, match="does not begin with 'x_'"):
        net.collect_params().save(path, "x_")
    net.collect_params().load(path, restore_prefix="net_")
    with pytest.raises(AssertionError, match="restore_prefix='x_'"):
        net.collect_params().load(path, restore_prefix="x_")
    with pytest.raises(AssertionError, match="'net_dense0_weight' is missing"):
        net.collect_params().load(path)
    net.collect_params().load_dict({f"arg:net_{k}": v for k, v in nd.load(path).items()})


def test_structure_and_parameters_are_saved_in_two_files(tmp_path: Path) -> None:
    net, other = shared(), shared()
    net.initialize()
    net.save(str(tmp_path / "a"))
    model = json.loads((tmp_path / "a-model.json").read_text())
    assert model["hybridsequential0"]["children"] == {"net_dense0": "0", "net_dense1": "1"}
    other.load(str(tmp_path / "a"))
    np.testing.assert_array_equal(other[1].weight.data().asnumpy(), net[0].weight.data().asnumpy())
    with pytest.raises(AssertionError, match="2 children"):
        nn.Dense(2).load(str(tmp_path / "a"))


@pytest.mark.filterwarnings("ignore:.*deprecated")
def test_older_names_of_methods_and_parameters_work(tmp_path: Path) -> None:
    net = shared()
    net.initialize()
    net.save_params(str(tmp_path / "a.params"))
    assert list(nd.load(str(tmp_path / "a.params"))) == ["dense0_weight", "dense0_bias"]
    net.load_params(str(tmp_path / "a.params"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[1]",
        "{}",
        '{"a": 1}',
        '{"a": {}}',
        '{"a": {"orig_name": [1]}}',
        "[" * 9999,
        '{"a": {"orig_name": "x", "children": {}}, "b": 1}',
        "\xff",
    ],
)
def test_damaged_descriptions_of_blocks(tmp_path: Path, text: str) -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(2, in_units=3))
    net.initialize()
    net.save(str(tmp_path / "a"))
    (tmp_path / "a-model.json").write_text(text, encoding="latin-1")
    before = net.name, net[0].name
    with pytest.raises(mx.base.FileFormatError, match=r"a-model\.json"):
        net.load(str(tmp_path / "a"))
    assert (net.name, net[0].name) == before


def test_a_block_of_a_symbol_keeps_the_names_of_its_inputs(tmp_path: Path) -> None:
    ids = mx.sym.Variable("ids")
    block = mx.gluon.SymbolBlock(mx.sym.FullyConnected(ids, num_hidden=2, name="fc"), [ids])
    block.initialize()
    block.hybridize()
    block(mx.nd.ones((1, 3)))
    block.export(str(tmp_path / "net"))
    symbol = mx.sym.load(str(tmp_path / "net-symbol.json"))
    assert symbol.list_inputs() == ["ids", "fc_weight", "fc_bias"]
