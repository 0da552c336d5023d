"""Seeds, generators and distributions: moments rather than numbers, since streams differ;
shuffles, dropout, samplers, initializers.
"""

import mxnet as mx
import numpy as np
from mxnet import nd


def near(a, b, tolerance):
    return bool(abs(float(a) - b) < tolerance)


mx.random.seed(128)
n = (20000,)
u = nd.random.uniform(-1, 3, shape=n)
print(
    near(u.mean().asscalar(), 1, 0.05), bool(u.min().asscalar() >= -1), bool(u.max().asscalar() < 3)
)
g = nd.random.normal(2, 3, shape=n)
print(near(g.mean().asscalar(), 2, 0.1), near(((g - 2) ** 2).mean().asscalar(), 9, 0.5))
print(
    near(nd.random.exponential(2.0, shape=n).mean().asscalar(), 2, 0.1),
    near(nd.random.gamma(3.0, 0.5, shape=n).mean().asscalar(), 1.5, 0.05),
)
p = nd.random.poisson(4.0, shape=n)
print(
    near(p.mean().asscalar(), 4, 0.1),
    near(nd.random.negative_binomial(5, 0.5, shape=n).mean().asscalar(), 5, 0.2),
    near(nd.random.generalized_negative_binomial(2.0, 0.3, shape=n).mean().asscalar(), 2, 0.1),
)
r = nd.random.randint(3, 9, shape=n)
print(r.dtype.__name__, r.min().asscalar(), r.max().asscalar())
rows = nd.random.uniform(nd.array([0.0, 10]), nd.array([1.0, 20]), shape=(1000,))
print(rows.shape, near(rows[1].mean().asscalar(), 15, 0.5))
m = nd.random.multinomial(nd.array([[0.1, 0.9], [0.7, 0.3]]), shape=(2000,))
print(m.shape, m.dtype.__name__, near(m[0].astype("float32").mean().asscalar(), 0.9, 0.05))
drawn, logs = nd.sample_multinomial(nd.array([0.25, 0.75]), get_prob=True)
print(drawn.shape, bool(np.allclose(np.exp(logs.asnumpy()), [0.25, 0.75][int(drawn.asscalar())])))
s = nd.random.shuffle(nd.arange(50))
print(
    sorted(s.asnumpy().astype(int)) == list(range(50)),
    bool((s != nd.arange(50)).sum().asscalar() > 0),
)
mx.random.seed(5)
first = nd.random.normal(shape=(3,)).asnumpy()
mx.random.seed(5)
print(
    (nd.random.normal(shape=(3,)).asnumpy() == first).all(),
    nd.random.randn(2, 3, loc=1.0).shape,
    mx.nd.normal(shape=(2,)).shape,
)
like = (
    nd.random.uniform_like(nd.zeros((2, 2)))
    if hasattr(nd.random, "uniform_like")
    else nd._internal._random_uniform_like(nd.zeros((2, 2)))
)
print(like.shape)
with mx.autograd.record():
    d = nd.Dropout(nd.ones((100, 100)), p=0.4)
kept = d.asnumpy()
print(near((kept > 0).mean(), 0.6, 0.03), sorted(set(np.unique(kept).round(3).tolist())))
e = mx.sym.random.normal(0, 1, shape=(4, 5)).eval()[0]
print(
    e.shape,
    mx.sym.sample_uniform(mx.sym.var("l"), mx.sym.var("h"), shape=(3,))
    .eval(l=nd.zeros((2,)), h=nd.ones((2,)))[0]
    .shape,
)
for init, check in (
    (
        mx.init.Xavier(rnd_type="gaussian", factor_type="in", magnitude=2),
        lambda a: near(a.std(), np.sqrt(2 / 300.0), 0.01),
    ),
    (mx.init.Orthogonal(), lambda a: near(np.abs(a @ a.T - 2 * np.eye(200)).max(), 0, 1e-3)),
    (mx.init.MSRAPrelu(slope=0.1), lambda a: near(a.mean(), 0, 0.01)),
    (mx.init.Uniform(0.3), lambda a: abs(a).max() <= 0.3),
    (mx.init.Bilinear(), lambda a: True),
    (mx.init.LSTMBias(1.0), lambda a: True),
):
    shape = (
        (200, 300)
        if not isinstance(init, (mx.init.Bilinear, mx.init.LSTMBias))
        else (1, 1, 4, 4)
        if isinstance(init, mx.init.Bilinear)
        else (8,)
    )
    arr = nd.zeros(shape)
    if isinstance(init, mx.init.LSTMBias):
        init._init_weight("bias", arr)
    else:
        init(mx.init.InitDesc("some_weight"), arr)
    print(
        type(init).__name__,
        bool(check(arr.asnumpy())),
        arr.asnumpy().ravel()[:4].tolist() if arr.size <= 16 else "",
    )
