"""SVMOutput with both hinge losses instead of softmax, in a Module; metrics one after the other."""

import mxnet as mx
import numpy as np

rng = np.random.RandomState(19)
centres = rng.normal(0, 1, (5, 20))
label = rng.randint(0, 5, 500)
data = (centres[label] + rng.normal(0, 0.9, (500, 20))).astype("float32")
for linear in (True, False):
    d = mx.symbol.Variable("data")
    fc1 = mx.symbol.FullyConnected(data=d, name="fc1", num_hidden=32)
    act1 = mx.symbol.Activation(data=fc1, name="relu1", act_type="relu")
    fc2 = mx.symbol.FullyConnected(data=act1, name="fc2", num_hidden=5)
    net = mx.symbol.SVMOutput(
        data=fc2, name="svm", margin=1.0, regularization_coefficient=0.7, use_linear=linear
    )
    args = {
        "fc1_weight": rng.normal(0, 0.2, (32, 20)),
        "fc1_bias": np.zeros(32),
        "fc2_weight": rng.normal(0, 0.2, (5, 32)),
        "fc2_bias": np.zeros(5),
    }
    args = {k: mx.nd.array(v) for k, v in args.items()}
    train = mx.io.NDArrayIter(
        data[:400], label[:400].astype("float32"), batch_size=40, label_name="svm_label"
    )
    test = mx.io.NDArrayIter(
        data[400:],
        label[400:].astype("float32"),
        batch_size=30,
        label_name="svm_label",
        last_batch_handle="pad",
    )
    mod = mx.mod.Module(context=mx.cpu(0), symbol=net, label_names=["svm_label"])
    mod.fit(
        train_data=train,
        eval_data=test,
        num_epoch=4,
        arg_params=args,
        optimizer_params={"learning_rate": 0.02, "momentum": 0.9, "wd": 1e-5},
    )
    for metric in (mx.metric.Accuracy(), mx.metric.TopKAccuracy(top_k=2)):
        print(linear, mod.score(test, metric))
    out = mod.predict(test)
    print(
        out.shape,
        "%.3f" % out.asnumpy().mean(),
        "%.3f" % mod.get_params()[0]["fc2_weight"].norm().asscalar(),
    )
composite = mx.metric.CompositeEvalMetric()
for child in (mx.metric.MAE(), mx.metric.MSE(), mx.metric.RMSE(), mx.metric.PearsonCorrelation()):
    composite.add(child)
a, b = mx.nd.array(rng.normal(size=(8, 1))), mx.nd.array(rng.normal(size=(8, 1)))
composite.update([a], [b])
print(dict((k, round(float(v), 4)) for k, v in zip(*composite.get())))
