"""A stacked autoencoder trained layer by layer, then as a whole, with executors; weights move
between symbols by name.
"""

import mxnet as mx
import numpy as np

rng = np.random.RandomState(18)
codes = rng.normal(0, 1, (200, 3))
X = np.tanh(codes @ rng.normal(0, 1, (3, 24))).astype("float32")
dims = [24, 12, 3]
params = {}


def init(shape):
    return mx.nd.array(rng.uniform(-1, 1, shape) * np.sqrt(3.0 / shape[-1]))


for i in range(2):
    for way, (a, b) in (("enc", (dims[i], dims[i + 1])), ("dec", (dims[i + 1], dims[i]))):
        params["%s_%d_weight" % (way, i)] = init((b, a))
        params["%s_%d_bias" % (way, i)] = mx.nd.zeros((b,))


def coder(x, way, i, act):
    x = mx.sym.FullyConnected(
        x, num_hidden=dims[i + 1] if way == "enc" else dims[i], name="%s_%d" % (way, i)
    )
    return mx.sym.Activation(x, act_type="tanh", name="%s_%d_act" % (way, i)) if act else x


def train(net, x, target, steps, lr):
    out = mx.sym.LinearRegressionOutput(net, mx.sym.Variable("label"), name="loss")
    grads = {n: mx.nd.zeros(params[n].shape) for n in out.list_arguments() if n in params}
    exe = out.bind(
        mx.cpu(),
        args=dict(
            {n: params[n] for n in grads}, data=mx.nd.array(x[:50]), label=mx.nd.array(target[:50])
        ),
        args_grad=grads,
        grad_req={n: "write" if n in grads else "null" for n in out.list_arguments()},
    )
    opt = mx.optimizer.create("adagrad", learning_rate=lr, rescale_grad=1.0 / 50)
    update = mx.optimizer.get_updater(opt)
    for step in range(steps):
        k = step * 50 % 200
        exe.forward(is_train=True, data=x[k : k + 50], label=target[k : k + 50])
        exe.backward()
        for i, n in enumerate(sorted(grads)):
            update(i, grads[n], params[n])
    exe.forward(is_train=False, data=x[:50])
    return float(((exe.outputs[0].asnumpy() - target[:50]) ** 2).mean())


def run(net, x):
    args = {n: params[n] for n in net.list_arguments() if n in params}
    exe = net.bind(mx.cpu(), dict(args, data=mx.nd.array(x)))
    return exe.forward()[0].asnumpy()


data = mx.sym.Variable("data")
inputs = X
for i in range(2):
    print(
        "layer",
        i,
        "%.4f"
        % train(coder(coder(data, "enc", i, True), "dec", i, False), inputs, inputs, 40, 0.1),
    )
    inputs = run(coder(data, "enc", i, True), inputs)
    print(inputs.shape, "%.4f" % np.abs(inputs).mean())
whole = coder(
    coder(coder(coder(data, "enc", 0, True), "enc", 1, True), "dec", 1, True), "dec", 0, False
)
print("whole %.4f" % train(whole, X, X, 60, 0.1))
print(whole.list_arguments())
whole.save("sae-symbol.json")
mx.nd.save("sae.params", {"arg:" + k: v for k, v in params.items()})
back = mx.sym.load("sae-symbol.json")
loaded = {k.split(":", 1)[1]: v for k, v in mx.nd.load("sae.params").items()}
print(back.list_arguments() == whole.list_arguments(), sorted(loaded) == sorted(params))
