"""A spatial transformer network in a Module, whose localization starts at the identity."""

import mxnet as mx
import numpy as np

mx.random.seed(3)
rng = np.random.RandomState(3)
x = np.zeros((128, 1, 20, 20), "float32")
y = rng.randint(0, 3, 128)
for i in range(128):
    a, b = rng.randint(2, 10, 2)
    x[i, 0, a : a + 3 + 2 * y[i], b : b + 4] = 1
data = mx.sym.Variable("data")
loc = mx.sym.Pooling(data, kernel=(2, 2), stride=(2, 2), pool_type="max")
loc = mx.sym.Activation(
    mx.sym.Convolution(loc, num_filter=6, kernel=(3, 3), name="lc"), act_type="relu"
)
loc = mx.sym.FullyConnected(
    loc,
    num_hidden=6,
    name="stn_loc",
    weight=mx.sym.Variable("stn_w", init=mx.init.Zero()),
    bias=mx.sym.Variable("stn_b", init=mx.init.Constant(mx.nd.array([1, 0, 0, 0, 1, 0]))),
)
net = mx.sym.SpatialTransformer(
    data, loc, target_shape=(20, 20), transform_type="affine", sampler_type="bilinear"
)
net = mx.sym.Activation(
    mx.sym.Convolution(net, num_filter=8, kernel=(3, 3), name="c1"), act_type="relu"
)
net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max")
net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=3, name="fc"), name="softmax")
it = mx.io.NDArrayIter(x, y, 32)
mod = mx.mod.Module(net)
mod.fit(
    it,
    num_epoch=4,
    initializer=mx.init.Xavier(),
    optimizer="sgd",
    optimizer_params={"learning_rate": 0.1, "momentum": 0.9},
)
print(dict(mod.score(it, "acc"))["accuracy"] > 0.4)
g = mx.nd.GridGenerator(
    mx.nd.array([[1, 0.1, 0, -0.1, 1, 0]]), transform_type="affine", target_shape=(4, 4)
)
print(g.shape)
print(mx.nd.BilinearSampler(mx.nd.array(x[:1]), g).sum().asscalar().round(3))
