"""A Kalman filter, and a hidden Markov model by gradients and Viterbi, step by step in mx.np."""

import mxnet as mx
import numpy as onp
from mxnet import autograd, np, npx

npx.set_np()
rng = onp.random.RandomState(15)
F = np.array([[1, 1.0], [0, 1]])
H = np.array([[1.0, 0]])
Q = np.eye(2) * 0.01
R = np.array([[0.5]])
z = onp.cumsum(rng.normal(1, 0.1, 40)) + rng.normal(0, 0.7, 40)
x, P = np.zeros((2, 1)), np.eye(2)
est = []
for v in z:
    x = np.dot(F, x)
    P = np.dot(np.dot(F, P), F.T) + Q
    S = np.dot(np.dot(H, P), H.T) + R
    K = np.dot(np.dot(P, H.T), np.linalg.inv(S))
    x = x + K * (float(v) - np.dot(H, x))
    P = np.dot(np.eye(2) - np.dot(K, H), P)
    est.append(x[0, 0].item())
print(onp.round(est[::8], 3).tolist(), onp.round(P.asnumpy(), 4).tolist())
A = np.array(rng.dirichlet(onp.ones(3), 3).astype("float32"))
E = np.array(rng.dirichlet(onp.ones(5), 3).astype("float32"))
obs = rng.randint(0, 5, 60)
la, le = np.log(A), np.log(E)
la.attach_grad()
le.attach_grad()
with autograd.record():
    alpha = le[:, int(obs[0])] - onp.log(3)
    for o in obs[1:]:
        s = alpha.reshape(3, 1) + la
        m = s.max(axis=0)
        alpha = m + np.log(np.exp(s - m).sum(axis=0)) + le[:, int(o)]
    m = alpha.max()
    ll = m + np.log(np.exp(alpha - m).sum())
ll.backward()
print("%.4f" % ll.item(), onp.round(la.grad.asnumpy().sum(), 3))
best, back = le[:, int(obs[0])], []
for o in obs[1:]:
    s = best.reshape(3, 1) + la
    back.append(s.argmax(axis=0))
    best = s.max(axis=0) + le[:, int(o)]
st = int(best.argmax())
path = [st]
for b in reversed(back):
    st = int(b[st])
    path.append(st)
print(path[::-1][:20])
