"""Wide and deep on census-like rows: a csr wide part, embeddings and numbers for the deep part,
NDArrayIter with several inputs.
"""

import mxnet as mx
import numpy as np

rng = np.random.RandomState(120)
n, crossed = 400, 50
cat = np.stack([rng.randint(0, k, n) for k in (5, 7, 3)], 1)
cont = rng.normal(0, 1, (n, 3))
wide = np.zeros((n, crossed), "float32")
wide[np.arange(n), (cat[:, 0] * 7 + cat[:, 1]) % crossed] = 1
wide[np.arange(n), 35 + (cat[:, 2] * 5 + cat[:, 0]) % 15] = 1
label = (
    (wide @ rng.normal(0, 1, crossed) + cont @ np.array([0.5, -1, 0.3]) + np.sin(cont[:, 0] * 2))
    > 0
).astype("float32")
csr = mx.nd.array(wide).tostype("csr")


def model(sizes=(5, 7, 3), hidden=(16, 8)):
    data, dns = mx.symbol.Variable("csr_data", stype="csr"), mx.symbol.Variable("dns_data")
    w = mx.symbol.Variable(
        "linear_weight", shape=(crossed, 2), stype="row_sparse", init=mx.init.Constant(0.01)
    )
    linear = mx.symbol.broadcast_add(
        mx.sym.dot(data, w), mx.symbol.Variable("linear_bias", shape=(2,))
    )
    x = mx.symbol.slice(data=dns, begin=(0, 0), end=(None, 3))
    embeds = mx.symbol.split(data=x, num_outputs=3, squeeze_axis=True)
    hid = []
    for i, e in enumerate(embeds):
        weight = mx.symbol.Variable("embed_%d_weight" % i)
        hid.append(
            mx.symbol.Embedding(
                data=e, weight=weight, input_dim=sizes[i], output_dim=4, sparse_grad=True
            )
        )
    hid.append(mx.symbol.slice(data=dns, begin=(0, 3), end=(None, 6)))
    deep = mx.symbol.concat(*hid, dim=1)
    for i, h in enumerate(hidden):
        deep = mx.symbol.Activation(
            mx.symbol.FullyConnected(data=deep, num_hidden=h, name="deep%d" % i), act_type="relu"
        )
    deep = mx.symbol.FullyConnected(data=deep, num_hidden=2, name="deep_out")
    return mx.symbol.SoftmaxOutput(
        linear + deep, label=mx.symbol.Variable("softmax_label"), name="model"
    )


train = mx.io.NDArrayIter(
    {"csr_data": csr, "dns_data": np.concatenate([cat, cont], 1)},
    {"softmax_label": label},
    40,
    last_batch_handle="discard",
)
mod = mx.mod.Module(
    symbol=model(), data_names=["csr_data", "dns_data"], label_names=["softmax_label"]
)
mod.bind(data_shapes=train.provide_data, label_shapes=train.provide_label)
mod.init_params()
arg, _ = mod.get_params()
mod.set_params(
    {
        k: mx.nd.array(np.random.RandomState(len(k)).normal(0, 0.2, v.shape))
        if v.stype == "default"
        else v
        for k, v in arg.items()
    },
    {},
    allow_missing=False,
)
mod.init_optimizer(
    optimizer=mx.optimizer.create("adam", learning_rate=0.01, rescale_grad=1.0 / 40),
    kvstore=mx.kvstore.create("local"),
)
metric = mx.metric.create(["acc", "f1", "mcc", "nll_loss"])
print([(d.name, d.shape, d.dtype.__name__) for d in train.provide_data])
for epoch in range(5):
    metric.reset()
    for batch in train:
        mod.prepare(
            batch, sparse_row_id_fn=lambda b: {"linear_weight": b.data[0].tostype("csr").indices}
        )
        mod.forward_backward(batch)
        mod.update()
        mod.update_metric(metric, batch.label)
    train.reset()
    print(epoch, [(k, "%.3f" % v) for k, v in metric.get_name_value()])
out = mod.predict(train)
print(out.shape, "%.3f" % out.asnumpy().std(), mod.get_params()[0]["linear_weight"].stype)
