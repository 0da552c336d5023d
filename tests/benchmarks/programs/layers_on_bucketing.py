"""Layers and models in the manner of Keras on symbols, trained by a BucketingModule; symbols with loops."""

import collections
import json
import logging

import mxnet as mx
import numpy as np

logging.basicConfig(level=logging.ERROR)
mx.random.seed(0)
np.random.seed(0)
_uid = collections.defaultdict(int)


def uid(p):
    _uid[p] += 1
    return "%s_%d" % (p, _uid[p])


class KT:
    def __init__(self, s, shape, inputs, layers):
        self.s, self.shape, self.inputs, self.layers = (s, shape, inputs, layers)

    def __add__(self, o):
        return KT(self.s + (o.s if isinstance(o, KT) else o), self.shape, self.inputs, self.layers)

    def __getitem__(self, k):
        return KT(
            mx.sym.slice_axis(
                self.s,
                axis=k[1][0] if isinstance(k, tuple) and isinstance(k[1], tuple) else 1,
                begin=k.start if isinstance(k, slice) else k,
                end=k.stop if isinstance(k, slice) else k + 1,
            ),
            self.shape,
            self.inputs,
            self.layers,
        )


def Input(shape, name=None):
    n = name or uid("input")
    return KT(mx.sym.Variable(n), (None,) + shape, [n], [])


class Layer:
    def __init__(self, **kw):
        self.name = kw.pop("name", None) or uid(type(self).__name__.lower())
        self.kw = kw

    def __call__(self, x):
        xs = x if isinstance(x, list) else [x]
        s = self.call(*[t.s for t in xs])
        return KT(
            s, None, sum([t.inputs for t in xs], []), sum([t.layers for t in xs], []) + [self.name]
        )


class Dense(Layer):
    def call(self, s):
        y = mx.sym.FullyConnected(s, num_hidden=self.kw["units"], name=self.name, flatten=False)
        a = self.kw.get("activation")
        return (
            y
            if a is None
            else mx.sym.softmax(y)
            if a == "softmax"
            else mx.sym.Activation(y, act_type=a)
        )


class Dropout(Layer):
    def call(self, s):
        return mx.sym.Dropout(s, p=self.kw["rate"])


class LSTM(Layer):
    def call(self, s):
        c = mx.rnn.LSTMCell(self.kw["units"], prefix=self.name + "_")
        c.reset()
        o, _ = c.unroll(self.kw["T"], s, merge_outputs=False, layout="NTC")
        return o[-1]


class Embedding(Layer):
    def call(self, s):
        return mx.sym.Embedding(
            s, input_dim=self.kw["input_dim"], output_dim=self.kw["output_dim"], name=self.name
        )


class Concat(Layer):
    def call(self, *s):
        return mx.sym.concat(*s, dim=-1)


class BN(Layer):
    def call(self, s):
        return mx.sym.BatchNorm(
            s, name=self.name, axis=-1, fix_gamma=False, momentum=0.99, eps=0.001
        )


class Model:
    def __init__(self, inputs, outputs):
        self.inputs, self.outputs = (inputs, outputs)

    def compile(self, optimizer, loss, metrics=()):
        y = mx.sym.Variable("target")
        p = self.outputs.s
        l = {
            "mse": lambda: mx.sym.mean(mx.sym.square(p - y), axis=-1),
            "categorical_crossentropy": lambda: (
                -mx.sym.sum(y * mx.sym.log(mx.sym.clip(p, 1e-07, 1 - 1e-07)), axis=-1)
            ),
            "binary_crossentropy": lambda: mx.sym.mean(
                -(y * mx.sym.log(p + 1e-07) + (1 - y) * mx.sym.log(1 - p + 1e-07)), axis=-1
            ),
        }[loss]()
        self.train = mx.sym.Group(
            [mx.sym.MakeLoss(mx.sym.mean(l), name="loss"), mx.sym.BlockGrad(p, name="pred")]
        )
        names = [t.inputs[0] for t in self.inputs]

        def gen(key):
            return (self.train, names, ["target"]) if key == "train" else (p, names, None)

        self.mod = mx.mod.BucketingModule(gen, "train")
        self.opt = optimizer
        self.bound = False
        self.names = names

    def fit(self, X, Y, batch_size=16, epochs=1, callbacks=(), shuffle=True):
        X = X if isinstance(X, list) else [X]
        hist = []
        it = mx.io.NDArrayIter(dict(zip(self.names, X)), {"target": Y}, batch_size, shuffle=shuffle)
        order = {n: i for i, n in enumerate([d.name for d in it.provide_data])}
        if not self.bound:
            self.mod.bind([it.provide_data[order[n]] for n in self.names], it.provide_label)
            self.mod.init_params(mx.init.Xavier())
            self.mod.init_optimizer(optimizer=self.opt, optimizer_params={"learning_rate": 0.02})
            self.bound = True
        for e in range(epochs):
            it.reset()
            tot = n = 0
            for b in it:
                db = mx.io.DataBatch(
                    [b.data[order[k]] for k in self.names],
                    b.label,
                    bucket_key="train",
                    provide_data=[it.provide_data[order[k]] for k in self.names],
                    provide_label=it.provide_label,
                )
                self.mod.switch_bucket("train", db.provide_data, db.provide_label)
                self.mod.forward_backward(db)
                self.mod.update()
                tot += self.mod.get_outputs()[0].asscalar()
                n += 1
            hist.append(round(float(tot / n), 4))
            [c(e, hist[-1]) for c in callbacks]
        return hist

    def predict(self, X, batch_size=16):
        X = X if isinstance(X, list) else [X]
        out = []
        for i in range(0, len(X[0]), batch_size):
            d = [mx.nd.array(x[i : i + batch_size]) for x in X]
            ds = [mx.io.DataDesc(n, v.shape) for n, v in zip(self.names, d)]
            b = mx.io.DataBatch(d, None, bucket_key="pred", provide_data=ds, provide_label=None)
            self.mod.forward(b, is_train=False)
            out.append(self.mod.get_outputs()[0].asnumpy())
        return np.concatenate(out)

    def weights(self):
        a, x = self.mod.get_params()
        return {**a, **x}


a, b = (Input((5,), "a"), Input((6,), "tok"))
h = Dense(units=8, activation="relu")(a)
e = LSTM(units=7, T=6)(Embedding(input_dim=10, output_dim=4)(b))
z = Concat()([BN()(h), e])
o = Dense(units=3, activation="softmax", name="out")(Dropout(rate=0.2)(z))
m = Model([a, b], o)
m.compile("adam", "categorical_crossentropy")
print(o.layers, o.inputs)
A, T = (np.random.randn(60, 5), np.random.randint(0, 10, (60, 6)))
Y = np.eye(3)[(A.sum(1) > 0).astype(int) + (T[:, 0] > 5)]
print(m.fit([A, T], Y, epochs=4))
p = m.predict([A, T])
print(p.shape, (p.argmax(1) == Y.argmax(1)).mean(), p[0], m.predict([A[:7], T[:7]]).shape)
print(m.fit([A, T], Y, epochs=1, batch_size=20), sorted(m.weights()))
print(m.mod._curr_bucket_key, sorted(m.mod._buckets), m.mod.symbol.list_outputs(), m.mod.data_names)
r = Input((4,))
q = Model([r], Dense(units=1)(Dense(units=6, activation="tanh")(r) + 0.5))
q.compile("sgd", "mse")
R = np.random.randn(32, 4)
print(q.fit(R, R[:, :1] * 2, epochs=3))
x, s0, W = (mx.sym.Variable("x"), mx.sym.Variable("s0"), mx.sym.Variable("w_weight"))


def step(d, s):
    h = mx.sym.tanh(mx.sym.FullyConnected(d, weight=W, num_hidden=4, no_bias=True) + s[0])
    return (h, [h, s[1] + 1])


o, f = mx.sym.contrib.foreach(step, x, [s0, mx.sym.zeros((1,))])
net = mx.sym.Group([o] + f)
print(net.list_arguments(), net.list_outputs(), net.infer_shape(x=(5, 2, 3), s0=(2, 4))[1])
ex = net.simple_bind(mx.cpu(), x=(5, 2, 3), s0=(2, 4))
print(
    [
        ex.arg_dict[k].__setitem__(
            slice(None), np.random.RandomState(i).randn(*ex.arg_dict[k].shape) * 0.5
        )
        for i, k in enumerate(("x", "s0", "w_weight"))
    ]
)
out = ex.forward(is_train=True)
print(out[0][4], out[2])
ex.backward([mx.nd.ones((5, 2, 4)), mx.nd.ones((2, 4)), mx.nd.ones((1,))])
print(ex.grad_dict["w_weight"], ex.grad_dict["s0"])
j = mx.sym.load_json(net.tojson())
print(
    j.list_arguments(),
    [n["op"] for n in json.loads(net.tojson())["nodes"] if n["op"] != "null"],
    len(json.loads(net.tojson())["nodes"][-1].get("subgraphs", [])),
)
ex2 = j.bind(mx.cpu(), {k: v for k, v in ex.arg_dict.items()})
print((ex2.forward()[0] - out[0]).abs().max())
i0, t0 = (mx.sym.Variable("i"), mx.sym.Variable("t"))
wo, ws = mx.sym.contrib.while_loop(
    lambda i, t: i < 5, lambda i, t: ([i * 2], [i + 1, t + i]), [i0, t0], max_iterations=8
)
g = mx.sym.Group([wo[0] if isinstance(wo, list) else wo] + ws)
print(g.list_outputs(), g.eval(i=mx.nd.array([1.0]), t=mx.nd.array([0.0])))
c = mx.sym.contrib.cond(
    mx.sym.Variable("p") > 0,
    lambda: mx.sym.Variable("u") * 2,
    lambda: mx.sym.Variable("u") - mx.sym.Variable("w"),
)
print(
    c.list_arguments(),
    c.eval(p=mx.nd.array([1.0]), u=mx.nd.array([3.0]), w=mx.nd.array([1.0])),
    c.eval(p=mx.nd.array([-1.0]), u=mx.nd.array([3.0]), w=mx.nd.array([1.0])),
)
bb = mx.sym.Variable("b")
mod = mx.mod.Module(
    mx.sym.LinearRegressionOutput(mx.sym.mean(o, axis=(0, 2)), mx.sym.Variable("lab"), name="lin"),
    data_names=["x", "s0"],
    label_names=["lab"],
)
mod.bind([mx.io.DataDesc("x", (5, 2, 3), layout="TNC"), ("s0", (2, 4))], [("lab", (2,))])
mod.init_params(mx.init.Xavier())
print(mod.init_optimizer(optimizer_params={"learning_rate": 0.5}))
for k in range(4):
    mod.forward_backward(
        mx.io.DataBatch([ex.arg_dict["x"], ex.arg_dict["s0"]], [mx.nd.array([0.3, -0.3])])
    )
    mod.update()
    print(mod.get_outputs()[0].asnumpy())
