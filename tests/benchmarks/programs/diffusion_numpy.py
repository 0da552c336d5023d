"""Denoising diffusion with mx.np: schedules, time embedding, U-Net with attention, sampling, DDIM."""

import math

import mxnet as mx
import numpy as onp
from mxnet import autograd, gluon, np, npx
from mxnet.gluon import nn

npx.set_np()
mx.random.seed(37)
onp.random.seed(37)
T = 20


def cosine_betas(T, s=0.008):
    x = onp.linspace(0, T, T + 1)
    a = onp.cos((x / T + s) / (1 + s) * math.pi * 0.5) ** 2
    a = a / a[0]
    return onp.clip(1 - a[1:] / a[:-1], 0, 0.999)


betas = np.array(cosine_betas(T))
alphas = 1 - betas
abar = np.cumprod(alphas) if hasattr(np, "cumprod") else np.array(onp.cumprod(alphas.asnumpy()))
print(betas.dtype, betas[:4], abar[-3:])
sq, sq1 = np.sqrt(abar), np.sqrt(1 - abar)


class TimeEmbed(nn.HybridBlock):
    def __init__(self, d):
        super().__init__()
        self.d = d
        self.l1, self.l2 = nn.Dense(d * 2, in_units=d), nn.Dense(d, in_units=2 * d)

    def hybrid_forward(self, F, t):
        half = self.d // 2
        f = F.np.exp(F.np.arange(half, dtype="float32") * (-math.log(1000) / (half - 1)))
        a = F.np.expand_dims(t, 1) * F.np.expand_dims(f, 0)
        e = F.np.concatenate([F.np.sin(a), F.np.cos(a)], axis=1)
        return self.l2(F.npx.leaky_relu(self.l1(e), act_type="gelu"))


class ResBlock(nn.HybridBlock):
    def __init__(self, i, o, d):
        super().__init__()
        self.n1, self.c1 = nn.BatchNorm(in_channels=i), nn.Conv2D(o, 3, padding=1, in_channels=i)
        self.e = nn.Dense(o, in_units=d)
        self.n2, self.c2 = (
            nn.LayerNorm(axis=1, in_channels=o),
            nn.Conv2D(o, 3, padding=1, in_channels=o),
        )
        self.skip = nn.Conv2D(o, 1, in_channels=i) if i != o else nn.HybridLambda(lambda F, x: x)

    def hybrid_forward(self, F, x, e):
        h = self.c1(F.npx.relu(self.n1(x)))
        h = h + F.np.expand_dims(F.np.expand_dims(self.e(e), -1), -1)
        h = self.c2(F.npx.activation(self.n2(h), act_type="tanh"))
        return h + self.skip(x)


class Attn(nn.HybridBlock):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.qkv, self.o = nn.Conv2D(3 * c, 1, in_channels=c), nn.Conv2D(c, 1, in_channels=c)

    def hybrid_forward(self, F, x):
        q, k, v = F.np.split(F.npx.reshape(self.qkv(x), (-2, -2, -1)), 3, axis=1)
        a = F.npx.softmax(F.npx.batch_dot(q, k, transpose_a=True) / math.sqrt(self.c), axis=-1)
        y = F.npx.batch_dot(v, a, transpose_b=True)
        return x + self.o(F.npx.reshape_like(y, x))


class UNet(nn.HybridBlock):
    def __init__(self, c=8, d=8):
        super().__init__()
        self.t = TimeEmbed(d)
        self.inp = nn.Conv2D(c, 3, padding=1, in_channels=1)
        self.d1, self.d2 = ResBlock(c, c, d), ResBlock(c, 2 * c, d)
        self.down = nn.Conv2D(c, 3, 2, 1, in_channels=c)
        self.mid = Attn(2 * c)
        self.up = nn.Conv2DTranspose(c, 2, 2, in_channels=2 * c)
        self.u1 = ResBlock(2 * c, c, d)
        self.out = nn.Conv2D(1, 1, in_channels=c, weight_initializer="zeros")

    def hybrid_forward(self, F, x, t):
        e = self.t(t)
        h1 = self.d1(self.inp(x), e)
        h2 = self.mid(self.d2(self.down(h1), e))
        return self.out(self.u1(F.np.concatenate([h1, self.up(h2)], axis=1), e))


net = UNet()
net.initialize(mx.init.Xavier())
net.hybridize()
ema = {k: v.data().copy() for k, v in net.collect_params().items()}
tr = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 5e-3})
g = onp.linspace(-1, 1, 8)
data = (
    onp.stack(
        [
            onp.exp(-((g[None] - a) ** 2 + (g[:, None] - b) ** 2) * 6)
            for a, b in onp.random.uniform(-0.6, 0.6, (16, 2))
        ]
    )[:, None]
    * 2
    - 1
)
data = np.array(data, dtype=onp.float32)
lf = gluon.loss.L2Loss()
for it in range(6):
    idx = np.random.randint(0, 16, size=(8,))
    x0 = data[idx]
    t = np.random.randint(0, T, size=(8,))
    eps = np.random.normal(size=x0.shape)
    a, s = sq[t].reshape(-1, 1, 1, 1), sq1[t].reshape(-1, 1, 1, 1)
    xt = (a * x0 + s * eps).astype("float32")
    with autograd.record():
        l = lf(net(xt, t.astype("float32")), eps)
    l.backward()
    tr.step(8)
    for k, v in net.collect_params().items():
        ema[k] = 0.9 * ema[k] + 0.1 * v.data()
    print(it, "%.5f" % l.mean(), t.dtype, t[:4], idx[:3])
x = np.random.normal(0, 1, (2, 1, 8, 8))
betas, sq1, alphas, sq = [z.astype("float32") for z in (betas, sq1, alphas, sq)]
for i in reversed(range(T)):
    t = np.full((2,), i, dtype="float32")
    e = net(x, t)
    x = (x - betas[i] / sq1[i] * e) / np.sqrt(alphas[i])
    if i > 0:
        x += np.sqrt(betas[i]) * np.random.normal(size=x.shape)
print(x.shape, x.dtype, "%.4f %.4f" % (x.mean(), x.std()), x[0, 0, 0, :4])
for i in list(range(0, T, 5))[::-1]:
    e = net(x, np.ones(2) * i)
    x0 = np.clip((x - sq1[i] * e) / sq[i], -1, 1)
    p = i - 5 if i >= 5 else 0
    x = sq[p] * x0 + sq1[p] * e
print("ddim %.4f" % np.abs(x).mean().item())
print(sorted(ema)[:2], "%.5f" % sum(float(np.abs(v).sum()) for v in ema.values()))
net.save_parameters("unet.params")
n2 = UNet()
n2.load_parameters("unet.params")
print(np.allclose(n2(x, np.ones(2)), net(x, np.ones(2)), atol=1e-5))
net.export("unet")
sb = gluon.SymbolBlock.imports("unet-symbol.json", ["data0", "data1"], "unet-0000.params")
print(np.abs(sb(x, np.ones(2)) - net(x, np.ones(2))).max() < 1e-5, type(sb(x, np.ones(2))).__name__)
print(onp.histogram(x.asnumpy(), 4)[0].sum())
for bad in (
    lambda: np.random.normal(size="a"),
    lambda: sq[np.array([100])].asnumpy(),
    lambda: sq["a"],
    lambda: np.ones(2) @ np.ones(3),
    lambda: net(x),
    lambda: np.array([1, 2]) / "a",
    lambda: np.clip(x),
    lambda: x.reshape(-1, 7),
    lambda: np.split(x, 3, axis=2),
):
    try:
        bad()
        print("ok")
    except Exception as e:
        print(type(e).__name__)
print(
    np.arange(4) % 3,
    -np.arange(3),
    2 ** np.arange(3),
    np.arange(3).dtype,
    (np.arange(3) / 2).dtype,
    np.array([1, 2]).dtype,
    np.array(onp.array([1, 2])).dtype,
    np.ones(2, dtype=bool) & np.zeros(2, dtype=bool),
)
