"""Two heads on one trunk: a Group of outputs, a metric over both, a custom iterator with two
labels, and fixed parameters.
"""

import mxnet as mx
import numpy as np

rng = np.random.RandomState(20)
X = rng.normal(0, 1, (240, 12)).astype("float32")
Y1 = (X[:, :4].argmax(1)).astype("float32")
Y2 = (X[:, 4:].sum(1) > 0).astype("float32")


class Multi_IO(mx.io.DataIter):
    def __init__(self, data_iter, extra):
        super(Multi_IO, self).__init__()
        self.data_iter, self.extra = data_iter, extra
        self.batch_size = self.data_iter.batch_size

    @property
    def provide_data(self):
        return self.data_iter.provide_data

    @property
    def provide_label(self):
        provide_label = self.data_iter.provide_label[0]
        return [("softmax1_label", provide_label[1]), ("softmax2_label", provide_label[1])]

    def hard_reset(self):
        self.data_iter.hard_reset()

    def reset(self):
        self.data_iter.reset()

    def next(self):
        at = self.data_iter.cursor + self.batch_size
        batch = self.data_iter.next()
        other = mx.nd.array(self.extra[at : at + self.batch_size])
        return mx.io.DataBatch(
            data=batch.data, label=[batch.label[0], other], pad=batch.pad, index=batch.index
        )


class Multi_Accuracy(mx.metric.EvalMetric):
    def __init__(self, num=None):
        self.num = num
        super(Multi_Accuracy, self).__init__("multi-accuracy")

    def reset(self):
        self.num_inst = [0] * self.num if self.num else 0
        self.sum_metric = [0.0] * self.num if self.num else 0.0

    def update(self, labels, preds):
        mx.metric.check_label_shapes(labels, preds)
        for i in range(len(labels)):
            pred = mx.nd.argmax_channel(preds[i]).asnumpy().astype("int32")
            self.sum_metric[i] += (pred.flat == labels[i].asnumpy().astype("int32").flat).sum()
            self.num_inst[i] += len(pred.flat)

    def get(self):
        return zip(
            *(
                ("%s_task%d" % (self.name, i), self.sum_metric[i] / max(self.num_inst[i], 1))
                for i in range(self.num)
            )
        )

    def get_name_value(self):
        return list(zip(*self.get()))


data = mx.symbol.Variable("data")
fc1 = mx.symbol.Activation(
    mx.symbol.FullyConnected(data, name="fc1", num_hidden=24), name="relu1", act_type="relu"
)
fc2 = mx.symbol.Activation(
    mx.symbol.FullyConnected(fc1, name="fc2", num_hidden=16), name="relu2", act_type="relu"
)
with mx.AttrScope(lr_mult="0.5"):
    fc3 = mx.symbol.FullyConnected(fc2, name="fc3", num_hidden=4)
    fc4 = mx.symbol.FullyConnected(fc2, name="fc4", num_hidden=2)
net = mx.symbol.Group(
    [
        mx.symbol.SoftmaxOutput(fc3, name="softmax1"),
        mx.symbol.SoftmaxOutput(fc4, name="softmax2", grad_scale=0.5),
    ]
)
print(net.list_outputs(), net.attr_dict()["fc3"])
iterator = Multi_IO(mx.io.NDArrayIter(X, Y1, 40), Y2)
args = {}
for name, shape in zip(net.list_arguments(), net.infer_shape(data=(40, 12))[0]):
    if name.startswith("fc"):
        args[name] = mx.nd.array(rng.normal(0, 0.3, shape))
mod = mx.mod.Module(
    net, label_names=["softmax1_label", "softmax2_label"], fixed_param_names=["fc1_bias"]
)
seen = []
mod.fit(
    iterator,
    eval_metric=Multi_Accuracy(num=2),
    num_epoch=6,
    arg_params=args,
    allow_missing=True,
    optimizer="sgd",
    optimizer_params={"learning_rate": 0.3, "momentum": 0.9, "wd": 0.0001},
    epoch_end_callback=lambda epoch, sym, arg, aux: seen.append(
        "%.3f" % arg["fc3_weight"].norm().asscalar()
    ),
)
print(seen)
metric = Multi_Accuracy(num=2)
mod.score(iterator, metric)
print([(k, "%.3f" % v) for k, v in metric.get_name_value()])
print((mod.get_params()[0]["fc1_bias"] == args["fc1_bias"]).asnumpy().all())
