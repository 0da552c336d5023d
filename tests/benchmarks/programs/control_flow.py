"""foreach, while_loop and cond: imperative, in a hybridized block, as symbols; an RNN by foreach
against the unrolled one.
"""

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn, rnn

rng = np.random.RandomState(26)


class ForeachRNN(gluon.HybridBlock):
    def __init__(self, cell, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.cell = cell

    def hybrid_forward(self, F, inputs, h, c):
        out, states = F.contrib.foreach(self.cell, inputs, [h, c])
        return out, states[0]


cell = rnn.LSTMCell(5, input_size=3)
cell.initialize()
for p in cell.collect_params().values():
    p.set_data(nd.array(rng.uniform(-0.5, 0.5, p.shape)))
x, zero = nd.array(rng.normal(0, 1, (6, 2, 3))), nd.zeros((2, 5))
net = ForeachRNN(cell)
results = []
for hybrid in (False, True):
    if hybrid:
        net.hybridize()
    with autograd.record():
        out, last = net(x, zero, zero)
        loss = (out**2).sum()
    loss.backward()
    results.append(cell.i2h_weight.grad().asnumpy())
    print(out.shape, "%.5f" % loss.asscalar(), "%.5f" % np.abs(results[-1]).sum())
unrolled, _ = cell.unroll(6, x, begin_state=[zero, zero], layout="TNC", merge_outputs=True)
print(np.allclose(unrolled.asnumpy(), out.asnumpy(), atol=1e-5))


def newton(value):
    value.attach_grad()
    with autograd.record():
        steps, (root, i) = nd.contrib.while_loop(
            cond=lambda r, i: i < 6,
            func=lambda r, i: (r, [0.5 * (r + value / r), i + 1]),
            loop_vars=[nd.ones_like(value), nd.array([0])],
            max_iterations=8,
        )
    root.backward()
    return steps, root, value.grad


steps, root, grad = newton(nd.array([9.0]))
print(
    steps.shape,
    steps.asnumpy().ravel()[:6].round(4).tolist(),
    "%.5f %.5f" % (root.asscalar(), grad.asscalar()),
)
for v in (3.0, -3.0):
    a = nd.array([v])
    a.attach_grad()
    with autograd.record():
        b = nd.contrib.cond(a.sum() > 0, lambda: a * 2, lambda: a * a)
    b.backward()
    print(b.asscalar(), a.grad.asscalar())
data, state = mx.sym.var("data"), mx.sym.var("state")
outs, final = mx.sym.contrib.foreach(lambda d, s: (d * s[0] + 1, [s[0] + d]), data, [state])
group = mx.sym.Group([outs, final[0]])
exe = group.bind(
    mx.cpu(),
    {"data": nd.array([[1.0, 2], [3, 4], [5, 6]]), "state": nd.array([0.5, 1])},
    args_grad={"data": nd.zeros((3, 2)), "state": nd.zeros((2,))},
)
res = exe.forward(is_train=True)
exe.backward([nd.ones((3, 2)), nd.ones((2,))])
print(
    res[0].asnumpy().tolist(),
    res[1].asnumpy().tolist(),
    [g.asnumpy().tolist() for g in exe.grad_arrays],
)
i, s = mx.sym.var("i"), mx.sym.var("s")
o, (fi, fs) = mx.sym.contrib.while_loop(
    lambda i, s: i <= 4, lambda i, s: ([s], [i + 1, s + i]), [i, s], max_iterations=5
)
print(
    mx.sym.Group([o[0], fi, fs])
    .bind(mx.cpu(), {"i": nd.array([1]), "s": nd.array([0])})
    .forward()[2]
    .asnumpy()
)
loaded = mx.sym.load_json(group.tojson())
print(
    loaded.list_arguments(),
    loaded.list_outputs() == group.list_outputs(),
    loaded.infer_shape(data=(3, 2), state=(2,))[1],
)
print(
    nd.contrib.isfinite(nd.array([1, np.inf])).asnumpy(),
    nd.contrib.arange_like(x, axis=0).asnumpy(),
)
