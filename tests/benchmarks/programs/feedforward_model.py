"""FeedForward, the oldest face: fit on NumPy arrays, predict, score, save and load."""

import logging
import warnings

import mxnet as mx
import numpy as np

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
rng = np.random.RandomState(11)
X = rng.rand(300, 20).astype(np.float32)
true = rng.normal(0, 1, (20, 5))
Y = (X.dot(true)).argmax(axis=1).astype(np.float32)

data = mx.symbol.Variable("data")
fc1 = mx.symbol.FullyConnected(data=data, name="fc1", num_hidden=40)
act1 = mx.symbol.Activation(data=fc1, name="relu1", act_type="relu")
fc2 = mx.symbol.FullyConnected(data=act1, name="fc2", num_hidden=5)
softmax = mx.symbol.SoftmaxOutput(data=fc2, name="softmax")

arg_shapes, out_shapes, aux_shapes = softmax.infer_shape(data=(30, 20))
print(dict(zip(softmax.list_arguments(), arg_shapes)), out_shapes, aux_shapes)
start = {
    n: mx.nd.array(rng.normal(0, 0.2, s))
    for n, s in zip(softmax.list_arguments(), arg_shapes)
    if n not in ("data", "softmax_label")
}

model = mx.model.FeedForward(
    ctx=mx.cpu(),
    symbol=softmax,
    num_epoch=10,
    learning_rate=0.3,
    momentum=0.9,
    wd=0.0001,
    arg_params=start,
    numpy_batch_size=30,
)
train = mx.io.NDArrayIter(X, Y, 30, label_name="softmax_label")
model.fit(X=train, eval_data=mx.io.NDArrayIter(X[:60], Y[:60], 30), eval_metric="accuracy")
prob = model.predict(X)
print(prob.shape, type(prob).__name__, "%.3f" % (prob.argmax(1) == Y).mean())
print("score %.3f" % model.score(mx.io.NDArrayIter(X, Y, 30)))
model.save("ff", 10)
loaded = mx.model.FeedForward.load("ff", 10, ctx=mx.cpu())
print(np.abs(loaded.predict(X[:30]) - prob[:30]).max() < 1e-6)
internals = softmax.get_internals()
print(internals.list_outputs())
features = mx.model.FeedForward(
    ctx=mx.cpu(),
    symbol=internals["relu1_output"],
    numpy_batch_size=30,
    arg_params=loaded.arg_params,
    aux_params=loaded.aux_params,
    allow_extra_params=True,
)
out = features.predict(X[:60])
print(out.shape, "%.4f" % out.mean())
