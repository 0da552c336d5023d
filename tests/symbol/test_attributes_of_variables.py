"""Variables that symbols make for their parameters, and shapes beside unknown extents."""

from __future__ import annotations

import json

import numpy as np
import pytest

import mixnet as mx
from mixnet import sym

x = sym.Variable("x")


def test_a_variable_has_what_its_node_has() -> None:
    net = sym.FullyConnected(x, num_hidden=2, name="f", lr_mult=2, attr={"__foo__": "q"})
    expected = {"num_hidden": "2", "__lr_mult__": "2", "lr_mult": "2", "__foo__": "q"}
    assert net.attr_dict() == dict.fromkeys(("f", "f_weight", "f_bias"), expected)
    with mx.AttrScope(ctx_group="d"):
        net = sym.Convolution(x, kernel=(1, 1), num_filter=1, no_bias=True, name="c")
    assert net.attr_dict()["c_weight"]["__ctx_group__"] == "d"
    assert net.attr_dict()["c_weight"]["kernel"] == "(1, 1)"


def test_attributes_of_any_type_are_stored_as_text() -> None:
    net = sym.Convolution(x, kernel=(1, 1), num_filter=1, name="c", attr={"__foo__": mx.init.One()})
    assert net.attr("__foo__") == str(net.attr_dict()["c_weight"]["__foo__"])
    assert isinstance(net.attr("__foo__"), str)
    assert sym.load_json(net.tojson()).attr("__foo__") == net.attr("__foo__")
    assert sym.sin(x, attr={"__foo__": 3}).attr("__foo__") == "3"


@pytest.mark.parametrize(
    ("net", "name", "start"),
    [(sym.LeakyReLU(x, act_type="prelu", name="l"), "l_gamma", '["Constant", {"value": 0.25}]'),
     (sym.BatchNorm(x, name="b"), "b_moving_var", '["one", {}]'),
     (sym.BatchNorm(x, name="b"), "b_moving_mean", '["zero", {}]'),
     (sym.UpSampling(x, scale=2, sample_type="bilinear", num_filter=2, name="u"), "u_weight",
      '["bilinear", {}]')],
)  # fmt: skip
def test_init_attributes_of_variables_are_used(net, name, start) -> None:
    assert net.attr_dict()[name]["__init__"] == start


def test_variables_have_storage_types() -> None:
    for stype, code in (("default", "0"), ("row_sparse", "1"), ("csr", "2")):
        assert sym.Variable("v", stype=stype).attr("__storage_type__") == code


def test_a_symbol_file_has_mxnets_text() -> None:
    text = sym.FullyConnected(x, num_hidden=2, name="f").tojson()
    assert text.startswith(
        '{\n  "nodes": [\n    {\n      "op": "null", \n      "name": "x", \n      "inputs": []\n    }, '
        '\n    {\n      "op": "null", \n      "name": "f_weight", \n'
        '      "attrs": {"num_hidden": "2"}, \n'
    )
    assert text.endswith(
        '  "heads": [[3, 0, 0]], \n  "attrs": {"mxnet_version": ["int", 10901]}\n}'
    )
    assert json.loads(text)["arg_nodes"] == [0, 1, 2]


def test_debug_str_is_mxnets() -> None:
    net = sym.BatchNorm(x, name="b")
    text = net.debug_str()
    assert "\toutput[0]=b(0)\n" in text
    assert "\targ[3]=b_moving_mean(0) version=1\n" in text


@pytest.mark.filterwarnings("ignore:The shapes of these arguments")
def test_shapes_are_inferred_despite_unknown_extents() -> None:
    net = sym.Convolution(x, kernel=(3, 3), num_filter=4, name="c")
    net = sym.FullyConnected(sym.Pooling(net, global_pool=True, pool_type="avg"), num_hidden=3)
    arguments, outputs, _ = net.infer_shape_partial(x=(0, 3, 0, 8))
    assert arguments == [(0, 3, 0, 8), (4, 3, 3, 3), (4,), (3, 4), (3,)]
    assert outputs == [(0, 3)]
    assert net.infer_shape(x=(0, 3, 0, 8)) == (None, None, None)


def test_a_loop_reads_variables_that_its_body_makes() -> None:
    outputs, last = sym.contrib.foreach(
        lambda row, total: (row * sym.Variable("w"), total + row), x, sym.Variable("start")
    )
    net = sym.Group([outputs, last])
    assert net.list_arguments() == ["x", "start", "w"]
    values = {"x": [[1.0, 2], [3, 4]], "start": [0.0, 0], "w": [10.0, 100]}
    arrays = {name: mx.nd.array(each) for name, each in values.items()}
    rows, total = net.bind(mx.cpu(), arrays).forward()
    assert rows.asnumpy().tolist() == [[10, 200], [30, 400]]
    assert total.asnumpy().tolist() == [4, 6]


def test_layers_inside_of_loops_are_hybridized() -> None:
    class Net(mx.gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.cell = mx.gluon.nn.Dense(3, flatten=False, in_units=5)

        def hybrid_forward(self, F, data, state):
            def body(row, before):
                after = F.tanh(self.cell(F.concat(row, before, dim=-1)))
                return after, after

            return F.contrib.foreach(body, data, state)

    net = Net()
    net.initialize(mx.init.Constant(0.1))
    data, state = mx.nd.array(np.arange(12).reshape(3, 2, 2) / 10), mx.nd.zeros((2, 3))
    plain = net(data, state)
    net.hybridize()
    for one, other in zip(plain, net(data, state), strict=True):
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-6)


def test_a_variable_in_the_place_of_a_state_starts_as_that_state() -> None:
    # As MXNet 1.9.1 prints it.
    data, mean = mx.sym.Variable("data"), mx.sym.Variable("mean")
    one = mx.sym.Variable("one", init=mx.init.One())
    norm = mx.sym.BatchNorm(data, moving_mean=mean, name="bn")
    assert mean.list_attr() == {"__init__": '["zero", {}]'}
    again = mx.sym.BatchNorm(norm, moving_mean=one, moving_var=mean, name="bn2")
    assert again.attr_dict() == {
        "mean": {"__init__": '["zero", {}]'},
        "bn_moving_var": {"__init__": '["one", {}]'},
        "one": {"__init__": '["one", {}]'},
    }
