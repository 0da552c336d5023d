"""All facts about a new operator are declared on it: no other file names it."""

import jax.numpy as jnp
import numpy as np
import pytest

import mixnet as mx
from mixnet.export.network import read_in_prediction
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ops.registry import OPERATORS
from mixnet.ops.schema.attributes import Extents
from mixnet.ops.schema.dtypes import Dtypes
from mixnet.ops.schema.integer_layers import Fusion, Quantization
from mixnet.ops.schema.rewrites import Rewrites, whole
from mixnet.ops.schema.shape_constraints import all_same
from mixnet.ops.tracing.any_layout import takes_any_layout
from mixnet.passes.choose_layout import _is_relu, choose_layout
from mixnet.passes.facts import Facts
from mixnet.passes.fold_constants import fold_constants
from mixnet.passes.fuse_layers import fused_part
from mixnet.passes.lower_precision import Precision
from mixnet.passes.quantize_layers import Options, rule_for
from mixnet.passes.recompute import kept_nodes
from mixnet.passes.simplify import drop_gradient_rules, simplify
from mixnet.stages.flops import flops


@pytest.fixture
def mine():
    """An operator on elements, declared as a user would."""

    @mx.ops.register("bent_line", flops=3, precision="full")
    def bent_line(data, *, slope: float = 2.0):
        return jnp.where(data > 0, data, slope * data)

    yield bent_line
    del OPERATORS["bent_line"]


def test_flops_are_declared_on_the_operator(mine):
    assert flops("bent_line", {"slope": "2"}, [(4, 5)], [(4, 5)]) == 60

    @mine.set_flops(is_product=True)
    def _(inputs, outputs, slope):
        return int(slope) * 1000

    assert flops("bent_line", {"slope": "7"}, [(4, 5)], [(4, 5)]) == 7000
    assert flops("bent_line", {}, [(4, 5)], [(4, 5)]) == 2000
    assert flops("_backward_bent_line", {}, [(4, 5), (4, 5)], [(4, 5)]) == 2000


def test_precision_is_declared_on_the_operator(mine):
    rule = Precision("float16", ["FullyConnected"], [], [])
    assert rule.kind(mine, ()) == "full"
    assert Precision("float16", ["bent_line"], [], []).kind(mine, ()) == "low"  # a list goes before
    half = mx.contrib.amp.convert_symbol(
        mx.sym.bent_line(mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=3, name="fc"))
    )
    cast = half.graph.heads[0].node.inputs[0].node
    assert cast.op.name == "amp_cast" and cast.op.keywords(cast.statics)["dtype"] == "float32"


def test_precision_by_attribute_and_by_dtype():
    op = declare(
        "bent",
        lambda data, *, kind="flat": data,
        precision="low",
        bfloat16="any",
        full_where={"kind": ["steep"]},
    )
    half, other = (Precision(dtype, [], [], []) for dtype in ("float16", "bfloat16"))
    flat, steep = (op.bind({"kind": kind})[0] for kind in ("flat", "steep"))
    assert (half.kind(op, flat), half.kind(op, steep)) == ("low", "full")
    assert (other.kind(op, flat), other.kind(op, steep)) == (None, "full")


def test_shapes_of_arrays_from_those_of_results():
    declare("in_pairs", lambda x, y: x + y, shape_constraint=all_same)
    both = mx.sym.in_pairs(mx.sym.var("x"), mx.sym.in_pairs(mx.sym.var("y"), mx.sym.var("z")))
    arguments, outputs, _ = both.infer_shape(z=(2, 3))
    assert arguments == [(2, 3)] * 3 and outputs == [(2, 3)]

    def tiled(shapes, *, times):
        out = shapes.output()
        if out:
            shapes.set_input(0, (out[0] // times, *out[1:]))

    declare(
        "tiled_rows",
        lambda x, *, times: jnp.tile(x, (times, 1)),
        shape_constraint=tiled,
    )
    rows = mx.sym.tiled_rows(mx.sym.var("x"), times=3)
    arguments, _, _ = mx.sym.elemwise_add(rows, mx.sym.var("y")).infer_shape(y=(6, 4))
    assert arguments == [(2, 4), (6, 4)]


def test_an_attribute_that_is_the_shape_of_the_result():
    def filled(*, extents: Extents = ()):
        return jnp.full(extents, 7.0, "float32")

    declare("sevens", filled, shaped_by="extents")
    y = mx.sym.elemwise_add(mx.sym.var("x"), mx.sym.sevens(extents=(0, 3)))
    assert (
        y.bind(mx.cpu(), {"x": mx.nd.ones((2, 3))}).forward()[0].asnumpy().tolist()
        == [[8.0] * 3] * 2
    )


def test_labels_that_a_prediction_does_not_read():
    declare("own_loss", lambda data, truth: data, labels=["truth"])
    loss = mx.sym.own_loss(mx.sym.exp(mx.sym.var("x")), mx.sym.var("wanted"))
    read = read_in_prediction(loss.graph)
    assert [node.name for node in read] == ["x"]


def test_activations_and_sums_that_a_convolution_takes_in():
    x = Entry(Node(None, name="x"))
    either = declare(
        "bent_or_not",
        lambda data, *, kind: data,
        activation=lambda *, kind: kind,
        fusion=Fusion("sum"),
    )
    assert _is_relu(apply(either, x, kind="relu").node)
    assert not _is_relu(apply(either, x, kind="tanh").node)
    assert fused_part(apply(either, x, kind="relu").node) == "sum"


def test_the_operator_on_integers():
    rule = Quantization("_contrib_quantized_flatten", fits=lambda *, kind: kind == "flat")
    op = declare("flat_or_not", lambda data, *, kind: data, quantization=rule)
    x = Entry(Node(None, name="x"))
    options = Options(())
    assert rule_for(apply(op, x, kind="flat").node, options) is rule
    assert rule_for(apply(op, x, kind="bent").node, options) is None


def test_layouts_follow_from_the_function(mine):
    statics, scalars = mine.bind({})
    image = ((2, 3, 4, 5), np.dtype("float32"))
    assert takes_any_layout(mine, statics, [image], len(scalars), (0, 2, 3, 1))


def test_the_stepper_describes_the_operator(mine):
    x = mx.nd.ones((2, 2))
    stages = mx.stages(lambda x: mx.nd.bent_line(x, slope=3.0) + 1, x)
    rows = stages.to_dict()["programs"][0]["steps"][0]["graph"]["nodes"]
    (row,) = [row for row in rows if row["op"] == "bent_line"]
    assert row["attributes"] == {"slope": "3"}


def test_dtypes_are_declared_on_the_operator():
    @mx.ops.register("chosen_line", dtypes=Dtypes(own={"places": None}, result="int64"))
    def chosen_line(data, places):
        return jnp.take(data, places, axis=0).astype(jnp.int64)

    try:
        y = mx.sym.chosen_line(mx.sym.exp(mx.sym.var("x")), mx.sym.var("places"))
        arguments, outputs, _ = y.infer_type_partial(places="int32")
        assert arguments == [None, np.int32] and outputs == [np.int64]
    finally:
        del OPERATORS["chosen_line"]


def declare(name, function, **declared):
    """Declare an operator, which the fixture below removes after the test."""
    return mx.ops.register(name, **declared)(function)


@pytest.fixture(autouse=True)
def operators_of_the_library():
    before = dict(OPERATORS)
    yield
    OPERATORS.clear()
    OPERATORS.update(before)


def apply(op, *inputs, **attributes):
    return Entry(Node(op, *op.bind(attributes), inputs, op.name))


def names(graph):
    return [node.op.name for node in graph.nodes if not node.is_variable]


def test_a_call_that_changes_nothing():
    def turned(data, *, times: int = 0):
        return jnp.roll(data, times)

    def both(first, then):
        times = first["times"] + then["times"]
        return {"times": times} if times else {}

    op = declare(
        "turned_by",
        turned,
        rewrites=Rewrites(unchanged=lambda *, times: times == 0, combined=both),
    )
    x = Entry(Node(None, name="x"))
    assert names(simplify(Graph((apply(op, x, times=0),)))) == []
    assert names(simplify(Graph((apply(op, apply(op, x, times=2), times=-2),)))) == []
    graph = simplify(Graph((apply(op, apply(op, x, times=2), times=3),)))
    assert names(graph) == ["turned_by"]
    assert op.keywords(graph.heads[0].node.statics) == {"times": 5}
    assert names(simplify(Graph((apply(op, x, times=1),)))) == ["turned_by"]


def test_a_call_that_only_has_another_gradient():
    op = declare("same_but_slow", lambda data: data, rewrites=Rewrites(only_gradient=True))
    graph = Graph((apply(op, Entry(Node(None, name="x"))),))
    assert names(simplify(graph)) == ["same_but_slow"]  # it still has to be differentiated
    assert names(drop_gradient_rules(graph)) == []


def test_shapes_that_follow_one_another():
    def in_rows(data, *, rows: int):
        return data.reshape(rows, -1)

    op = declare(
        "in_rows", in_rows, rewrites=Rewrites(keeps_order=True, sets_shape=lambda *, rows: rows > 0)
    )
    x = Entry(Node(None, name="x"))
    graph = simplify(Graph((apply(op, apply(op, x, rows=2), rows=3),)))
    assert names(graph) == ["in_rows"] and graph.heads[0].node.inputs[0].node.is_variable
    assert len(names(simplify(Graph((apply(op, apply(op, x, rows=2), rows=-1),))))) == 2


def test_a_cast_to_the_same_dtype_is_an_identity():
    op = declare("halved", lambda data: data / 2, rewrites=Rewrites(keeps_dtype=True))
    x = Node(None, name="x")
    graph = Graph((apply(OPERATORS["Cast"], apply(op, Entry(x)), dtype="float16"),))
    facts = Facts(inputs=[((2, 3), np.dtype("float16"))])
    assert names(simplify(graph, facts)) == ["halved"]
    other = Facts(inputs=[((2, 3), np.dtype("float32"))])
    assert names(simplify(graph, other)) == ["halved", "Cast"]


def test_constants_are_folded_by_a_declared_function():
    op = declare(
        "sum_of_two", lambda left, right: left + right, rewrites=Rewrites(constant=whole(np.add))
    )
    for dtype, folded in (("int32", ["_constant"]), ("float32", ["_ones", "sum_of_two"])):
        ones = apply(OPERATORS["_ones"], shape=(2,), dtype=dtype)
        assert names(fold_constants(Graph((apply(op, ones, ones),)))) == folded
    facts = Facts(inputs=[((2, 3), np.dtype("float32"))])
    x = Entry(Node(None, name="x"))
    axes = declare(
        "number_of_axes",
        lambda data: jnp.asarray([data.ndim]),
        rewrites=Rewrites(described=lambda shape, dtype: np.array([len(shape)])),
    )
    graph = fold_constants(Graph((apply(axes, x),)), facts)
    assert graph.heads[0].node.op.name == "_constant"
    nothing = declare("nothing_like", lambda data: data * 0, rewrites=Rewrites(made_like="_zeros"))
    assert names(fold_constants(Graph((apply(nothing, x),)), facts)) == ["_zeros"]


def test_recomputation_is_declared_on_the_operator():
    x = Entry(Node(None, name="x"))
    for recomputed, stored in (("yes", 0), ("asked", 1), ("never", 1)):
        op = declare("dear", jnp.sin, recomputed=recomputed)
        node = apply(op, x).node
        assert len(kept_nodes(Graph((Entry(node),)), "mirror")) == stored
        forced = Node(op, (), (), (x,), "dear", {"__force_mirroring__": "1"})
        kept_anyway = kept_nodes(Graph((Entry(forced),)), "mirror")
        assert len(kept_anyway) == (recomputed == "never")


@pytest.mark.parametrize("declared", [{"layout_axis": "axis"}, {"any_layout": True}])
def test_layouts_that_are_declared(monkeypatch, declared):
    """Sorting along an axis is no work on single elements, so that what follows from the
    function is not enough.
    """
    monkeypatch.setenv("MIXNET_LAYOUT", "xla")
    op = declare("in_order", _in_order, **declared)
    x, weight = (Entry(Node(None, name=name)) for name in ("x", "weight"))
    image = apply(OPERATORS["Convolution"], x, weight, kernel=(3, 3), num_filter=4, no_bias=True)
    graph = Graph((apply(op, image, axis=1),))
    float32 = np.dtype("float32")
    facts = Facts(inputs=[((2, 3, 8, 8), float32), ((4, 3, 3, 3), float32)])
    (node,) = [node for node in choose_layout(graph, facts).nodes if node.op is op]
    assert op.keywords(node.statics)["axis"] == (3 if "layout_axis" in declared else 1)
    assert node.inputs[0].node.op.name != "transpose"  # it reads what the convolution computed


def _in_order(data, *, axis: int = 1):
    return jnp.sort(data, axis)
