"""Model parallelism with group2ctx: groups of a perceptron and of a deeper one on two devices,
and the same on one.
"""

import mxnet as mx
import numpy as np

rng = np.random.RandomState(33)


def perceptron():
    with mx.AttrScope(ctx_group="dev1"):
        data = mx.sym.Variable("data")
        fc1 = mx.sym.FullyConnected(data=data, name="fc1", num_hidden=16)
        act1 = mx.sym.Activation(data=fc1, name="relu1", act_type="relu")
    with mx.AttrScope(ctx_group="dev2"):
        fc2 = mx.sym.FullyConnected(data=act1, name="fc2", num_hidden=4)
        return mx.sym.SoftmaxOutput(data=fc2, name="softmax")


def tower(layers=4):
    net = mx.sym.Variable("data")
    for i in range(layers):
        with mx.AttrScope(ctx_group="dev%d" % (i % 2 + 1)):
            net = mx.sym.FullyConnected(net, num_hidden=12, name="fc%d" % i)
            net = mx.sym.Activation(net, act_type="tanh", name="tanh%d" % i)
    with mx.AttrScope(ctx_group="dev2"):
        return mx.sym.SoftmaxOutput(
            mx.sym.FullyConnected(net, num_hidden=4, name="out"), name="softmax"
        )


def train(net, shape, groups):
    exe = net.simple_bind(ctx=mx.cpu(0), group2ctx=groups, data=shape)
    weights = np.random.RandomState(1)
    for n, a in sorted(exe.arg_dict.items()):
        if n not in ("data", "softmax_label"):
            a[:] = weights.uniform(-0.4, 0.4, a.shape)
    data = np.random.RandomState(2)
    losses = []
    for step in range(6):
        x = data.normal(0, 1, shape)
        y = (x.reshape(shape[0], -1)[:, :4]).argmax(1)
        exe.arg_dict["data"][:] = x
        exe.arg_dict["softmax_label"][:] = y
        exe.forward(is_train=True)
        exe.backward()
        for n, g in exe.grad_dict.items():
            if n not in ("data", "softmax_label"):
                exe.arg_dict[n][:] -= 0.02 * g
        p = exe.outputs[0].asnumpy()
        losses.append("%.4f" % -np.log(p[np.arange(shape[0]), y]).mean())
    places = sorted({str(a.context) for a in exe.arg_arrays})
    return losses, places


groups = {"dev1": mx.cpu(0), "dev2": mx.cpu(1)}
for make, shape in ((perceptron, (20, 10)), (tower, (8, 20))):
    apart, places = train(make(), shape, groups)
    together, one = train(make(), shape, None)
    print(apart, places, one, apart == together)
print(perceptron().attr_dict()["fc2"], perceptron().list_attr())
mod = mx.mod.Module(perceptron(), context=mx.cpu(0), group2ctxs=groups)
mod.bind(data_shapes=[("data", (10, 10))], label_shapes=[("softmax_label", (10,))])
mod.init_params(mx.init.One())
mod.forward(mx.io.DataBatch([mx.nd.ones((10, 10))], [mx.nd.zeros((10,))]), is_train=False)
print(mod.get_outputs()[0].asnumpy()[0].tolist())
split = mx.mod.Module(perceptron(), context=[mx.cpu(0), mx.cpu(1)], work_load_list=[1, 1])
split.bind(data_shapes=[("data", (10, 10))], label_shapes=[("softmax_label", (10,))])
split.init_params(mx.init.Constant(0.1))
split.init_optimizer(kvstore="device", optimizer_params={"learning_rate": 0.1})
for _ in range(3):
    split.forward_backward(
        mx.io.DataBatch([mx.nd.array(rng.normal(0, 1, (10, 10)))], [mx.nd.array(np.arange(10) % 4)])
    )
    split.update()
print("%.5f" % split.get_params()[0]["fc2_weight"].norm().asscalar())
