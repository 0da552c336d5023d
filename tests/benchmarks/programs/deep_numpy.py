"""Programs in mx.np: least squares, a perceptron by hand, broadcasting, advanced indices,
einsum, random numbers, npx operators.
"""

import mxnet as mx
import numpy as onp
from mxnet import autograd, gluon, init, np, npx
from mxnet.gluon import nn

npx.set_np()
rng = onp.random.RandomState(25)
true_w, true_b = np.array([2, -3.4]), 4.2
X = np.array(rng.normal(0, 1, (200, 2)), dtype=np.float32)
y = np.dot(X, true_w) + true_b + np.array(rng.normal(0, 0.01, 200), dtype="float32")
w, b = np.array([0.1, 0.2]), np.zeros(1)
w.attach_grad()
b.attach_grad()


def sgd(params, lr, batch_size):
    for param in params:
        param[:] = param - lr * param.grad / batch_size


for epoch in range(3):
    for i in range(0, 200, 20):
        with autograd.record():
            loss = ((np.dot(X[i : i + 20], w) + b - y[i : i + 20]) ** 2) / 2
        loss.backward()
        sgd([w, b], 0.1, 20)
    print("epoch", epoch, "%.6f" % float((((np.dot(X, w) + b) - y) ** 2).mean()))
print(w, b)

W1, b1 = np.array(rng.normal(0, 0.5, (2, 8))).astype("float32"), np.zeros(8)
W2, b2 = np.array(rng.normal(0, 0.5, (8, 1))).astype("float32"), np.zeros(1)
params = [W1, b1, W2, b2]
for p in params:
    p.attach_grad()
data = np.array(rng.uniform(-1, 1, (100, 2)), dtype="float32")
label = (data[:, 0] * data[:, 1] > 0).astype(np.float32)
for step in range(60):
    with autograd.record():
        h = np.maximum(data @ W1 + b1, 0)
        logit = (h @ W2 + b2).reshape(-1)
        loss = np.log(1 + np.exp(-np.abs(logit))) + np.maximum(logit, 0) - logit * label
        total = loss.mean()
    total.backward()
    for p in params:
        p -= 1.0 * p.grad
    if step % 20 == 0:
        print(step, "%.5f" % total.item())
print("acc %.2f" % float(((logit > 0).astype("float32") == label).astype("float32").mean()))

a = np.arange(24).reshape(2, 3, 4)
print(a[:, [0, 2]][..., ::-1].shape, a[a > 20], a[np.array([0, 1]), np.array([2, 0])].tolist())
print(np.einsum("ijk,ilk->jl", a, a).tolist(), np.tensordot(a, a, axes=([0, 2], [0, 2])).shape)
print(
    np.where(a % 5 == 0, a, -1).sum(axis=(0, 2)),
    np.stack([a, a]).mean().item(),
    np.split(np.arange(9), [3, 5])[1],
)
print(
    np.cumsum(a, axis=1)[1, 2],
    np.argsort(np.array([3, 1, 2])),
    np.unique(np.array([3, 1, 3])),
    np.concatenate([a[0], a[1]]).shape,
)
print(
    npx.one_hot(np.array([0, 2]), 3).tolist(),
    npx.softmax(np.array([[1.0, 3.0]])).tolist(),
    npx.relu(np.array([-1.0, 2.0])),
)
print(
    npx.topk(np.array([[3.0, 1, 2]]), k=2, ret_typ="value"),
    npx.pick(np.array([[1.0, 2], [3, 4]]), np.array([1, 0])),
    npx.batch_dot(np.ones((2, 2, 3)), np.ones((2, 3, 1))).shape,
)
m = np.array(rng.normal(size=(4, 4)), dtype="float32")
m = m @ m.T + np.eye(4)
print(
    np.allclose(np.linalg.inv(m) @ m, np.eye(4), atol=1e-3),
    "%.3f" % np.linalg.norm(m).item(),
    np.linalg.cholesky(m).shape,
    np.linalg.svd(m)[1].round(2),
)
mx.random.seed(3)
r = np.random.normal(2, 0.5, size=(2000,))
print(
    bool(abs(r.mean() - 2) < 0.1),
    bool(abs(r.std() - 0.5) < 0.1),
    np.random.randint(0, 5, size=(3,)).dtype,
    np.random.choice(5, size=(2,)).shape,
)
try:
    np.zeros((2, 3)) + np.zeros((2, 4))
except Exception as error:
    print("error", isinstance(error, (ValueError, RuntimeError)))
print(
    np.zeros((0, 3)).shape,
    np.array(5).shape,
    np.ones(()).item(),
    (np.ones(3) * 1e30 * 1e30)[0],
    repr(np.array([1.5, 2])),
    type(a.asnumpy()).__name__,
)
net = nn.HybridSequential()
net.add(nn.Dense(8, activation="relu"), nn.BatchNorm(), nn.Dense(1))
net.initialize(init.Constant(0.1))
net.hybridize()
print(net(X[:3]).shape, net[0].weight.data().shape, net[0].weight.shape)
with autograd.record():
    out = gluon.loss.L2Loss()(net(X), y)
out.backward()
print(out.shape, "%.4f" % net[2].bias.grad().item())
