"""Neural style: the input image is what is trained, by gradients of Gram matrices from an
executor's input.
"""

from collections import namedtuple

import mxnet as mx
import numpy as np

rng = np.random.RandomState(12)
Executor = namedtuple("Executor", ["executor", "data", "data_grad"])


def tower():
    net = mx.sym.Variable("data")
    outs = []
    for stage, width in enumerate((8, 16, 24), start=1):
        for j in (1, 2):
            net = mx.sym.Convolution(
                net,
                name="conv%d_%d" % (stage, j),
                num_filter=width,
                pad=(1, 1),
                kernel=(3, 3),
                stride=(1, 1),
                no_bias=False,
                workspace=1024,
            )
            net = mx.sym.Activation(net, name="relu%d_%d" % (stage, j), act_type="relu")
        outs.append(net)
        net = mx.sym.Pooling(net, pad=(0, 0), kernel=(2, 2), stride=(2, 2), pool_type="avg")
    return mx.sym.Group(outs[:2]), mx.sym.Group([outs[2]])


style, content = tower()


def style_gram_symbol(size, style):
    _, shapes, _ = style.infer_shape(data=(1, 3, size[0], size[1]))
    grams, scale = [], []
    for i in range(len(style.list_outputs())):
        shape = shapes[i]
        x = mx.sym.Reshape(style[i], target_shape=(int(shape[1]), int(np.prod(shape[2:]))))
        grams.append(mx.sym.FullyConnected(x, x, no_bias=True, num_hidden=shape[1]))
        scale.append(np.prod(shape[1:]) * shape[1])
    return mx.sym.Group(grams), scale


gram, gscale = style_gram_symbol((32, 32), style)
loss = []
for i in range(len(gram.list_outputs())):
    gvar = mx.sym.Variable("target_gram_%d" % i)
    loss.append(mx.sym.sum(mx.sym.square(gvar - gram[i])))
content_loss = mx.sym.sum(mx.sym.square(mx.sym.Variable("target_content") - content))
out = mx.sym.Group([gram, content])
shapes = dict(zip(out.list_arguments(), out.infer_shape(data=(1, 3, 32, 32))[0]))
args = {
    n: mx.nd.array(rng.normal(0, np.sqrt(2.0 / np.prod(s[1:])) if len(s) > 1 else 0.1, s))
    for n, s in shapes.items()
    if n != "data"
}


def bind(sym, **extra):
    data = mx.nd.zeros((1, 3, 32, 32))
    grad = mx.nd.zeros(data.shape)
    all_args = dict(args, data=data, **extra)
    all_args = {n: all_args[n] for n in sym.list_arguments()}
    return Executor(
        sym.bind(ctx=mx.cpu(), args=all_args, args_grad={"data": grad}, grad_req={"data": "write"}),
        data,
        grad,
    )


first = bind(out)
stripes = np.zeros((1, 3, 32, 32), "float32")
stripes[:, :, ::4] = 1
disc = ((np.mgrid[:32, :32] - 16) ** 2).sum(0)[None, None].repeat(3, 1) < 80
first.data[:] = stripes
first.executor.forward()
targets = {"target_gram_%d" % i: first.executor.outputs[i].copy() for i in range(2)}
first.data[:] = disc
first.executor.forward()
targets["target_content"] = first.executor.outputs[2].copy()
print([("%.3f" % (t.norm() / t.size).asscalar()) for _, t in sorted(targets.items())])
train = bind(mx.sym.Group(loss + [content_loss]), **targets)
heads = [mx.nd.ones((1,)) * 20.0 / g for g in gscale] + [mx.nd.ones((1,)) * 0.02]
img = mx.nd.array(rng.uniform(-0.1, 0.1, (1, 3, 32, 32)))


def tv_grad(img, weight=0.01):
    kernel = mx.nd.array(
        np.array([[0, -1, 0], [-1, 4, -1], [0, -1, 0]]).reshape((1, 1, 3, 3)) / 8.0
    )
    skernel = mx.nd.concatenate([kernel] * 3, axis=0)
    return (
        mx.nd.Convolution(
            img, skernel, num_filter=3, num_group=3, kernel=(3, 3), pad=(1, 1), no_bias=True
        )
        * weight
    )


lr = mx.lr_scheduler.FactorScheduler(step=10, factor=0.9)
optimizer = mx.optimizer.create("adam", learning_rate=0.05, lr_scheduler=lr)
state = optimizer.create_state(0, img)
for e in range(20):
    img.copyto(train.data)
    train.executor.forward(is_train=True)
    train.executor.backward(heads)
    gnorm = mx.nd.norm(train.data_grad).asscalar()
    grad = train.data_grad * (2.0 / max(gnorm, 2.0)) + tv_grad(img)
    optimizer.update(0, img, grad, state)
    if e % 5 == 0:
        print(e, ["%.3f" % o.asscalar() for o in train.executor.outputs], "%.4f" % gnorm)
print("%.3f" % img.mean().asscalar(), "%.3f" % img.norm().asscalar())
