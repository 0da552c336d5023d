"""Which operators take images with channels last as they take them with channels first."""

import numpy as np

from mixnet.ops.registry import find
from mixnet.ops.schema.stream import STREAM_SPEC
from mixnet.ops.tracing.any_layout import takes_any_layout
from mixnet.passes.differentiate import BackwardOp
from tests.each_record import each_record

SINGLE = np.dtype("float32")
IMAGE, CUBE, PIXEL, ROW = (2, 3, 4, 5), (3, 3, 3, 3), (2, 3, 1, 1), (5,)


def layouts_of(name, shapes, attributes, backward=False):
    op = find(name)
    statics, scalars = op.bind(attributes)
    specs, count = [(shape, SINGLE) for shape in shapes], len(scalars)
    if op.takes_key:
        specs, count = [*specs, STREAM_SPEC], count + 1
    if backward:
        statics = (statics, (0,), tuple(range(len(shapes))))
        op, specs = BackwardOp(op), [(shapes[0], SINGLE), *specs]
    return takes_any_layout(op, statics, specs, count, (0, 2, 3, 1))


@each_record("backward", [False, True])
@each_record(
    ("name", "shapes", "attributes"),
    [
        ("Activation", [IMAGE], {"act_type": "softrelu"}),
        ("Cast", [IMAGE], {"dtype": "float16"}),
        ("LeakyReLU", [IMAGE], {"act_type": "leaky"}),  # its key is not read
        ("_npi_tanh", [IMAGE], {}),
        ("_plus_scalar", [IMAGE], {"scalar": 2.0}),
        ("add_n", [IMAGE, IMAGE], {}),
        ("broadcast_mul", [IMAGE, PIXEL], {}),
        ("elemwise_div", [IMAGE, IMAGE], {}),
        ("zeros_like", [IMAGE], {}),
    ],
)
def test_elements_have_no_layout(name, shapes, attributes, backward):
    assert layouts_of(name, shapes, attributes, backward)


@each_record(
    ("name", "shapes", "attributes"),
    [
        ("LeakyReLU", [IMAGE, (3,)], {"act_type": "prelu"}),
        ("Reshape", [IMAGE], {"shape": IMAGE}),
        ("SoftmaxActivation", [IMAGE], {"mode": "channel"}),
        ("broadcast_mul", [IMAGE, ROW], {}),
        ("mean", [IMAGE], {"axis": (2, 3), "keepdims": True}),
        ("softmax", [CUBE], {"axis": 1}),  # the same shape in either order, and another axis
        ("sum", [CUBE], {"axis": (1,), "keepdims": True}),
        ("transpose", [CUBE], {"axes": (0, 1, 3, 2)}),
    ],
)
def test_axes_have_one(name, shapes, attributes):
    assert not layouts_of(name, shapes, attributes)
