"""VAE-GAN with Modules bound by hand: an encoder, a generator and a discriminator that pass
gradients to each other.
"""

import mxnet as mx
import numpy as np

rng = np.random.RandomState(8)
batch, z_dim = 8, 6


def encoder():
    data = mx.sym.Variable("data")
    e1 = mx.sym.Convolution(
        data, name="enc1", kernel=(5, 5), pad=(2, 2), stride=(2, 2), num_filter=8, no_bias=True
    )
    ebn1 = mx.sym.BatchNorm(e1, name="encbn1", fix_gamma=True, eps=1e-5)
    ea1 = mx.sym.LeakyReLU(ebn1, act_type="leaky", slope=0.2)
    e2 = mx.sym.Convolution(
        ea1, name="enc2", kernel=(5, 5), pad=(2, 2), stride=(2, 2), num_filter=16, no_bias=True
    )
    ea2 = mx.sym.LeakyReLU(
        mx.sym.BatchNorm(e2, name="encbn2", fix_gamma=True, eps=1e-5), act_type="leaky", slope=0.2
    )
    flat = mx.sym.flatten(ea2)
    mu = mx.sym.FullyConnected(flat, num_hidden=z_dim, name="enc_mu")
    lv = mx.sym.FullyConnected(flat, num_hidden=z_dim, name="enc_lv")
    z = mu + mx.sym.broadcast_mul(mx.sym.exp(0.5 * lv), mx.sym.Variable("eps"))
    kl = -0.5 * mx.sym.sum(1 + lv - mx.sym.square(mu) - mx.sym.exp(lv), axis=1)
    return mx.sym.Group([z, mx.sym.MakeLoss(kl, grad_scale=0.01, name="kl")])


def generator():
    z = mx.sym.Reshape(mx.sym.Variable("rand"), shape=(-1, z_dim, 1, 1))
    g1 = mx.sym.Deconvolution(z, name="gen1", kernel=(4, 4), num_filter=16, no_bias=True)
    ga1 = mx.sym.Activation(mx.sym.BatchNorm(g1, name="genbn1", fix_gamma=True), act_type="relu")
    g2 = mx.sym.Deconvolution(
        ga1, name="gen2", kernel=(4, 4), stride=(2, 2), pad=(1, 1), num_filter=8, no_bias=True
    )
    ga2 = mx.sym.Activation(mx.sym.BatchNorm(g2, name="genbn2", fix_gamma=True), act_type="relu")
    g3 = mx.sym.Deconvolution(
        ga2,
        name="gen3",
        kernel=(5, 5),
        stride=(2, 2),
        pad=(2, 2),
        adj=(1, 1),
        target_shape=(16, 16),
        num_filter=1,
        no_bias=True,
    )
    return mx.sym.Activation(g3, act_type="tanh", name="gact")


def discriminator():
    d1 = mx.sym.Convolution(
        mx.sym.Variable("data"), name="dis1", kernel=(4, 4), stride=(2, 2), pad=(1, 1), num_filter=8
    )
    da1 = mx.sym.LeakyReLU(d1, act_type="leaky", slope=0.2)
    d2 = mx.sym.Convolution(
        da1, name="dis2", kernel=(4, 4), stride=(2, 2), pad=(1, 1), num_filter=16
    )
    da2 = mx.sym.LeakyReLU(d2, act_type="leaky", slope=0.2, name="feature")
    out = mx.sym.FullyConnected(mx.sym.Flatten(da2), num_hidden=1, name="disfc")
    return mx.sym.LogisticRegressionOutput(out, mx.sym.Variable("label"), name="dloss")


class Init(mx.init.Normal):
    def _init_weight(self, name, arr):
        arr[:] = rng.normal(0, 0.05 if "mu" not in name else 0.1, arr.shape)


def module(sym, data, label=None, for_input=True):
    names = [n for n, _ in data]
    mod = mx.mod.Module(sym, data_names=names, label_names=[n for n, _ in label] if label else None)
    mod.bind(data_shapes=data, label_shapes=label, inputs_need_grad=for_input)
    mod.init_params(Init(0.05))
    mod.init_optimizer(
        optimizer="adam", optimizer_params={"learning_rate": 0.002, "wd": 0.0, "beta1": 0.5}
    )
    return mod


E = module(encoder(), [("data", (batch, 1, 16, 16)), ("eps", (batch, z_dim))])
G = module(generator(), [("rand", (batch, z_dim))])
D = module(discriminator(), [("data", (batch, 1, 16, 16))], [("label", (batch,))])
one, zero = mx.nd.ones((batch,)), mx.nd.zeros((batch,))
grid = np.linspace(-1, 1, 16)
for step in range(8):
    c = rng.uniform(-0.6, 0.6, (batch, 1, 1, 2))
    d2 = (grid[None, None, None] - c[..., :1]) ** 2 + (grid[None, None, :, None] - c[..., 1:]) ** 2
    real = mx.nd.array(2 * np.exp(-6 * d2) - 1)
    eps = mx.nd.array(rng.normal(size=(batch, z_dim)))
    E.forward(mx.io.DataBatch([real, eps], []), is_train=True)
    z, kl = E.get_outputs()
    G.forward(mx.io.DataBatch([z], None), is_train=True)
    fake = G.get_outputs()[0]
    D.forward(mx.io.DataBatch([fake], [zero]), is_train=True)
    D.backward()
    grads = [[g.copyto(g.context) for g in gs] for gs in D._exec_group.grad_arrays]
    D.forward(mx.io.DataBatch([real], [one]), is_train=True)
    p_real = D.get_outputs()[0].asnumpy().mean()
    D.backward()
    for mine, old in zip(D._exec_group.grad_arrays, grads):
        for a, b in zip(mine, old):
            a += b
    D.update()
    D.forward(mx.io.DataBatch([fake], [one]), is_train=True)
    D.backward()
    diff = D.get_input_grads()[0] + 0.1 * (fake - real)
    G.backward([diff])
    G.update()
    E.backward([G.get_input_grads()[0], mx.nd.ones_like(kl)])
    E.update()
    if step < 4:
        print(
            step,
            "%.4f" % p_real,
            "mse %.4f" % ((fake - real) ** 2).mean().asscalar(),
            "kl %.4f" % kl.mean().asscalar(),
        )
print("mse %.2f" % ((fake - real) ** 2).mean().asscalar(), fake.shape)
print(sorted(E.get_params()[1]), E.output_names)
