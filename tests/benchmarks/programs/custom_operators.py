"""Operators of one's own: CustomOp in a symbol, imperative and hybridized; autograd.Function; a
parameterised one; errors in them.
"""

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn


class Softmax(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        y = np.exp(x - x.max(axis=1).reshape((x.shape[0], 1)))
        y /= y.sum(axis=1).reshape((x.shape[0], 1))
        self.assign(out_data[0], req[0], mx.nd.array(y))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        label = in_data[1].asnumpy().ravel().astype(int)
        y = out_data[0].asnumpy()
        y[np.arange(label.shape[0]), label] -= 1.0
        self.assign(in_grad[0], req[0], mx.nd.array(y))


@mx.operator.register("programs_softmax")
class SoftmaxProp(mx.operator.CustomOpProp):
    def __init__(self):
        super(SoftmaxProp, self).__init__(need_top_grad=False)

    def list_arguments(self):
        return ["data", "label"]

    def list_outputs(self):
        return ["output"]

    def infer_shape(self, in_shape):
        return [in_shape[0], (in_shape[0][0],)], [in_shape[0]], []

    def infer_type(self, in_type):
        return in_type, [in_type[0]], []

    def create_operator(self, ctx, shapes, dtypes):
        return Softmax()


class Scale(mx.operator.CustomOp):
    def __init__(self, factor):
        self.factor = factor

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * self.factor)
        aux[0][:] = aux[0] + 1

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * self.factor)


@mx.operator.register("programs_scale")
class ScaleProp(mx.operator.CustomOpProp):
    def __init__(self, factor="1.0"):
        super(ScaleProp, self).__init__(True)
        self.factor = float(factor)

    def list_auxiliary_states(self):
        return ["count"]

    def infer_shape(self, in_shape):
        return in_shape, [in_shape[0]], [(1,)]

    def create_operator(self, ctx, shapes, dtypes):
        return Scale(self.factor)


class Sigmoid(autograd.Function):
    def forward(self, x):
        y = 1 / (1 + mx.nd.exp(-x))
        self.save_for_backward(y)
        return y

    def backward(self, dy):
        (y,) = self.saved_tensors
        return dy * y * (1 - y)


rng = np.random.RandomState(23)
X, T = rng.normal(0, 1, (60, 6)).astype("float32"), rng.randint(0, 3, 60)
X[np.arange(60), T] += 2
data = mx.sym.Variable("data")
fc = mx.sym.FullyConnected(data, num_hidden=3, name="fc")
scaled = mx.sym.Custom(fc, op_type="programs_scale", factor=2, name="scale")
net = mx.sym.Custom(data=scaled, name="softmax", op_type="programs_softmax")
print(net.list_arguments(), net.list_auxiliary_states(), net.infer_shape(data=(20, 6)))
mod = mx.mod.Module(net, label_names=["softmax_label"])
it = mx.io.NDArrayIter(X, T.astype("float32"), 20, label_name="softmax_label")
mod.fit(
    it,
    num_epoch=3,
    optimizer_params={"learning_rate": 0.02},
    arg_params={"fc_weight": mx.nd.array(rng.normal(0, 0.1, (3, 6))), "fc_bias": mx.nd.zeros((3,))},
    aux_params={"scale_count": mx.nd.zeros((1,))},
)
print(mod.score(it, "acc"), {k: v.asnumpy().tolist() for k, v in mod.get_params()[1].items()})


class Dense(nn.HybridBlock):
    def __init__(self, units):
        super().__init__()
        with self.name_scope():
            self.dense = nn.Dense(units, in_units=6)

    def hybrid_forward(self, F, x):
        return F.tanh(self.dense(x))


x = nd.array(X[:4])
x.attach_grad()
with autograd.record():
    y = Sigmoid()(x * 2)
    z = (y * nd.arange(24).reshape((4, 6))).sum()
z.backward()
s = 1 / (1 + np.exp(-2 * X[:4]))
print(np.allclose(x.grad.asnumpy(), 2 * s * (1 - s) * np.arange(24).reshape(4, 6), atol=1e-4))
for hybrid in (False, True):
    dense = Dense(3)
    dense.initialize(mx.init.One())
    if hybrid:
        dense.hybridize()
    with autograd.record():
        out = nd.Custom(dense(x), nd.array(T[:4]), op_type="programs_softmax")
    out.backward()
    print(
        hybrid,
        "%.5f" % dense.dense.weight.grad().norm().asscalar(),
        out.asnumpy().round(3).tolist()[0],
    )


try:
    nd.Custom(x, op_type="programs_nowhere")
except Exception as error:
    print(isinstance(error, mx.MXNetError))
print("programs_scale" in mx.operator.get_all_registered_operators())
