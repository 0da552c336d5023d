"""A symbol printed, drawn as text and counted; names, attributes, shapes and types of graphs;
composition of symbols.
"""

import mxnet as mx
import numpy as np

data = mx.sym.Variable("data")
conv = mx.sym.Convolution(data, kernel=(3, 3), num_filter=8, pad=(1, 1), name="conv")
bn = mx.sym.BatchNorm(conv, name="bn")
act = mx.sym.Activation(bn, act_type="relu", name="act")
pool = mx.sym.Pooling(act, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool")
net = mx.sym.SoftmaxOutput(
    mx.sym.FullyConnected(mx.sym.Flatten(pool, name="flat"), num_hidden=5, name="fc"),
    name="softmax",
)
mx.viz.print_summary(net, shape={"data": (1, 3, 8, 8)})
dot = mx.viz.plot_network(
    net,
    shape={"data": (1, 3, 8, 8)},
    save_format="dot",
    node_attrs={"shape": "oval", "fixedsize": "false"},
)
source = dot.source
print(
    [name in source for name in ("conv", "bn", "act", "pool", "fc", "softmax")],
    "3x8x8" in source.replace(", ", "x"),
)
print(net.list_arguments(), net.list_auxiliary_states(), net.name)
args, outs, aux = net.infer_shape(data=(2, 3, 8, 8))
print(args, outs, aux)
print(net.infer_type(data="float32")[1])
internals = net.get_internals()
print(internals.list_outputs(), internals["act_output"].infer_shape(data=(1, 3, 8, 8))[1])
print(net.get_children().list_outputs(), conv.attr("kernel"), sorted(conv.list_attr().items()))
first = mx.sym.FullyConnected(mx.sym.Variable("data"), name="fc1", num_hidden=10)
second = mx.sym.FullyConnected(mx.sym.Variable("data2"), name="fc2", num_hidden=10)
composed = second(data2=first, name="composed")
print(composed.list_arguments(), composed.list_outputs())
a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
expression = (a + b * 2 - 1) ** 2 / (b + 3)
print(
    expression.eval(ctx=mx.cpu(), a=mx.nd.ones((2,)), b=mx.nd.array([1.0, 2]))[0]
    .asnumpy()
    .round(4)
    .tolist()
)
with mx.AttrScope(group="4", data="great"):
    v = mx.sym.Variable("v", attr={"dtype": "data", "group": "1"}, shape=(1,), lr_mult=2)
    w = mx.sym.sin(v)
print(sorted(v.list_attr().items()), w.attr("group"), sorted(w.attr_dict()))
with mx.name.Prefix("pre_"):
    print(mx.sym.FullyConnected(a, num_hidden=2).list_arguments(), mx.sym.exp(a).name)
print(
    mx.sym.Group([a, w]).list_outputs(),
    len(mx.sym.Group([a, w])),
    [s.name for s in mx.sym.Group([a, w])],
)
copy = net.__copy__()
copy._set_attr(__mine__="1")
print(copy.attr("__mine__"))
print(mx.sym.load_json(net.tojson()).tojson() == net.tojson())
for bad in (
    lambda: mx.sym.Convolution(data, kernel=(3, 3)),
    lambda: mx.sym.nothing(data),
    lambda: net["nothing_output"],
):
    try:
        bad()
        print("nothing raised")
    except Exception as error:
        print(isinstance(error, (mx.MXNetError, ValueError, AttributeError)))
print(
    mx.sym.zeros((2,)).eval()[0].asnumpy(),
    mx.sym.arange(4).eval()[0].asnumpy(),
    (a == b).name.startswith("_equal"),
)
