"""LeNet as a symbol: simple_bind, forward, backward and a momentum update written by hand."""

import mxnet as mx
import numpy as np

np.random.seed(10)
batch_size = 20
images = np.zeros((200, 1, 20, 20), dtype="float32")
labels = np.arange(200) % 4
for i, k in enumerate(labels):
    x, y = np.random.randint(2, 10, 2)
    if k == 0:
        images[i, 0, y, x : x + 8] = 1
    elif k == 1:
        images[i, 0, y : y + 8, x] = 1
    elif k == 2:
        for j in range(8):
            images[i, 0, y + j, x + j] = 1
    else:
        images[i, 0, y : y + 6, x : x + 6] = 1
images += np.random.normal(0, 0.05, images.shape)

data = mx.sym.var("data")
conv1 = mx.sym.Convolution(data=data, kernel=(5, 5), num_filter=8, name="conv1")
tanh1 = mx.sym.Activation(data=conv1, act_type="tanh")
pool1 = mx.sym.Pooling(data=tanh1, pool_type="max", kernel=(2, 2), stride=(2, 2))
conv2 = mx.sym.Convolution(data=pool1, kernel=(3, 3), num_filter=16, name="conv2")
bn = mx.sym.BatchNorm(conv2, fix_gamma=False, momentum=0.8, name="bn")
relu2 = mx.sym.relu(bn)
pool2 = mx.sym.Pooling(relu2, pool_type="avg", kernel=(2, 2), stride=(2, 2))
flat = mx.sym.Flatten(pool2)
fc1 = mx.sym.FullyConnected(flat, num_hidden=30, name="fc1")
net = mx.sym.SoftmaxOutput(
    mx.sym.FullyConnected(mx.sym.tanh(fc1), num_hidden=4, name="fc2"), name="softmax"
)

exe = net.simple_bind(ctx=mx.cpu(), data=(batch_size, 1, 20, 20), grad_req="write")
args, grads, aux = exe.arg_dict, exe.grad_dict, exe.aux_dict
for name, arr in args.items():
    if name.endswith("weight"):
        arr[:] = np.random.normal(0, np.sqrt(1.0 / np.prod(arr.shape[1:])), arr.shape)
    elif name.endswith("gamma"):
        arr[:] = 1
aux["bn_moving_var"][:] = 1
momenta = {k: mx.nd.zeros(v.shape) for k, v in args.items() if k not in ("data", "softmax_label")}


def sgd(key, weight, grad, lr=0.1, mom=0.9):
    m = momenta[key]
    m[:] = mom * m - lr * grad / batch_size
    weight += m


for epoch in range(5):
    hits, loss = 0, 0.0
    for i in range(0, 200, batch_size):
        args["data"][:] = images[i : i + batch_size]
        args["softmax_label"][:] = labels[i : i + batch_size]
        exe.forward(is_train=True)
        exe.backward()
        for name in momenta:
            sgd(name, args[name], grads[name])
        out = exe.outputs[0].asnumpy()
        hits += (out.argmax(1) == labels[i : i + batch_size]).sum()
        loss -= np.log(out[np.arange(batch_size), labels[i : i + batch_size]] + 1e-8).sum()
    print("epoch", epoch, "acc %.2f" % (hits / 200.0), "loss %.2f" % (loss / 200))
exe.forward(is_train=False, data=mx.nd.array(images[:batch_size]))
print(
    "inference acc >= .9:",
    (exe.outputs[0].asnumpy().argmax(1) == labels[:batch_size]).mean() >= 0.9,
)
small = exe.reshape(
    data=(5, 1, 20, 20), softmax_label=(5,), allow_up_sizing=False, partial_shaping=True
)
small.forward(is_train=False, data=images[:5])
print(small.outputs[0].shape, net.infer_shape(data=(7, 1, 20, 20))[1])
print(exe.output_dict.keys(), [o for o in net.list_auxiliary_states()])
