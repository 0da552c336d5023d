"""A new operator says all that there is to know about it: no other file names it."""

import jax.numpy as jnp
import numpy as np
import pytest

import mixnet as mx
from mixnet.ops.registry import OPERATORS
from mixnet.ops.schema.dtypes import Dtypes
from mixnet.ops.tracing.any_layout import takes_any_layout
from mixnet.passes.lower_precision import Precision
from mixnet.stages.flops import flops


@pytest.fixture
def mine():
    """An operator on elements, declared as a user would."""

    @mx.ops.register("bent_line", flops=3, precision="full")
    def bent_line(data, *, slope: float = 2.0):
        return jnp.where(data > 0, data, slope * data)

    yield bent_line
    del OPERATORS["bent_line"]


def test_flops(mine):
    assert flops("bent_line", {"slope": "2"}, [(4, 5)], [(4, 5)]) == 60

    @mine.set_flops(is_product=True)
    def _(inputs, outputs, slope):
        return int(slope) * 1000

    assert flops("bent_line", {"slope": "7"}, [(4, 5)], [(4, 5)]) == 7000
    assert flops("bent_line", {}, [(4, 5)], [(4, 5)]) == 2000
    assert flops("_backward_bent_line", {}, [(4, 5), (4, 5)], [(4, 5)]) == 2000


def test_precision(mine):
    rule = Precision("float16", ["FullyConnected"], [], [])
    assert rule.kind(mine, ()) == "full"
    assert Precision("float16", ["bent_line"], [], []).kind(mine, ()) == "low"  # a list goes before
    half = mx.contrib.amp.convert_symbol(
        mx.sym.bent_line(mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=3, name="fc"))
    )
    cast = half.graph.heads[0].node.inputs[0].node
    assert cast.op.name == "amp_cast" and cast.op.keywords(cast.statics)["dtype"] == "float32"


def test_layout(mine):
    statics, scalars = mine.bind({})
    image = ((2, 3, 4, 5), np.dtype("float32"))
    assert takes_any_layout(mine, statics, [image], len(scalars), (0, 2, 3, 1))


def test_what_the_stepper_says(mine):
    x = mx.nd.ones((2, 2))
    stages = mx.stages(lambda x: mx.nd.bent_line(x, slope=3.0) + 1, x)
    rows = stages.to_dict()["programs"][0]["steps"][0]["graph"]["nodes"]
    (row,) = [row for row in rows if row["op"] == "bent_line"]
    assert row["attributes"] == {"slope": "3"}


def test_dtypes():
    @mx.ops.register("chosen_line", dtypes=Dtypes(own={"places": None}, result="int64"))
    def chosen_line(data, places):
        return jnp.take(data, places, axis=0).astype(jnp.int64)

    try:
        y = mx.sym.chosen_line(mx.sym.exp(mx.sym.var("x")), mx.sym.var("places"))
        arguments, outputs, _ = y.infer_type_partial(places="int32")
        assert arguments == [None, np.int32] and outputs == [np.int64]
    finally:
        del OPERATORS["chosen_line"]
