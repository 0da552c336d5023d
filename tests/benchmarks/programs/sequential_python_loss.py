"""SequentialModule of two Modules and a PythonLossModule whose gradient is written by hand."""

import mxnet as mx
import numpy as np

rng = np.random.RandomState(0)
centres = rng.normal(0, 2, (4, 10))
label = rng.randint(0, 4, 400)
data = (centres[label] + rng.normal(0, 1, (400, 10))).astype("float32")
train = mx.io.NDArrayIter(
    data, label.astype("float32"), 50, shuffle=False, label_name="softmax_label"
)


def mc_hinge_grad(scores, labels):
    scores, labels = scores.asnumpy(), labels.asnumpy().astype(int)
    n, _ = scores.shape
    grad = np.zeros_like(scores)
    for i in range(n):
        score = 1 + scores[i] - scores[i, labels[i]]
        score[labels[i]] = 0
        ind = score.argmax()
        if score[ind] > 0:
            grad[i, labels[i]] -= 1
            grad[i, ind] += 1
    return grad


d = mx.sym.Variable("data")
net1 = mx.sym.Activation(mx.sym.FullyConnected(d, num_hidden=16, name="fc1"), act_type="relu")
net2 = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc2")
mod1 = mx.mod.Module(net1, label_names=[], data_names=["data"])
mod2 = mx.mod.Module(net2, label_names=[], data_names=["data"])
loss = mx.mod.PythonLossModule(grad_func=mc_hinge_grad)
seq = mx.mod.SequentialModule()
seq.add(mod1).add(mod2, auto_wiring=True).add(loss, take_labels=True, auto_wiring=True)


class Init(mx.init.Initializer):
    def __call__(self, desc, arr):
        if desc.endswith("bias"):
            arr[:] = 0
        else:
            size = int(np.prod(arr.shape))
            arr[:] = (0.3 * np.cos(np.arange(size))).reshape(arr.shape)


seq.fit(
    train,
    optimizer_params={"learning_rate": 0.02, "rescale_grad": 1.0 / 50},
    initializer=Init(),
    num_epoch=8,
    eval_metric="acc",
)
metric = mx.metric.Accuracy()
train.reset()
for batch in train:
    seq.forward(batch, is_train=False)
    seq.update_metric(metric, batch.label)
print("accuracy %.3f" % metric.get()[1])
arg, aux = seq.get_params()
print(sorted(arg), sorted(aux), seq.data_names, seq.output_names)
print("%.4f %.4f" % (arg["fc1_weight"].norm().asscalar(), arg["fc2_weight"].norm().asscalar()))
