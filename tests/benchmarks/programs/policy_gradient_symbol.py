"""REINFORCE on a bandit with contexts: an executor whose head gradients are made by hand; two
ways to the same gradient.
"""

import mxnet as mx
import numpy as np

rng = np.random.RandomState(3)
arms, features, batch = 4, 5, 25
true = rng.normal(0, 1, (features, arms))

data, advantage, action = (
    mx.sym.Variable("data"),
    mx.sym.Variable("advantage"),
    mx.sym.Variable("action"),
)
fc = mx.sym.FullyConnected(
    mx.sym.Activation(mx.sym.FullyConnected(data, num_hidden=12, name="fc1"), act_type="softrelu"),
    num_hidden=arms,
    name="fc2",
)
policy = mx.sym.softmax(fc, name="policy")
log_policy = mx.sym.log_softmax(fc)
chosen = mx.sym.sum(log_policy * mx.sym.one_hot(action, arms), axis=1)
loss = mx.sym.make_loss(-mx.sym.broadcast_mul(chosen, advantage), name="pg")
entropy = mx.sym.BlockGrad(-mx.sym.sum(policy * log_policy, axis=1), name="entropy")
net = mx.sym.Group([mx.sym.BlockGrad(policy), loss, entropy])

exe = net.simple_bind(
    ctx=mx.cpu(),
    data=(batch, features),
    action=(batch,),
    advantage=(batch,),
    grad_req={
        n: "null" if n in ("data", "action", "advantage") else "add" for n in net.list_arguments()
    },
)
opt = mx.optimizer.SGD(
    learning_rate=0.05, momentum=0.9, rescale_grad=1.0 / batch, clip_gradient=1.0
)
updater = mx.optimizer.get_updater(opt)
params = [n for n in net.list_arguments() if n not in ("data", "action", "advantage")]
for n in params:
    exe.arg_dict[n][:] = rng.uniform(-0.3, 0.3, exe.arg_dict[n].shape)
baseline = 0.0
for step in range(40):
    for g in exe.grad_arrays:
        if g is not None:
            g[:] = 0
    for _ in range(2):
        x = rng.normal(0, 1, (batch, features))
        exe.forward(is_train=False, data=x, action=np.zeros(batch), advantage=np.zeros(batch))
        p = exe.outputs[0].asnumpy()
        a = (p.cumsum(1) > rng.rand(batch, 1)).argmax(1)
        r = (x @ true)[np.arange(batch), a]
        exe.forward(is_train=True, data=x, action=a, advantage=r - baseline)
        exe.backward()
        baseline = 0.9 * baseline + 0.1 * r.mean()
    for i, n in enumerate(params):
        updater(i, exe.grad_dict[n], exe.arg_dict[n])
    if step % 8 == 0:
        print(
            step,
            "%.4f %.4f %.4f"
            % (
                r.mean(),
                exe.outputs[2].asnumpy().mean(),
                exe.grad_dict["fc2_weight"].norm().asscalar(),
            ),
        )
print("better than chance:", baseline > 0.5)
states = updater.get_states(dump_optimizer=False)
print(type(states).__name__, sorted(opt.idx2name.items()), opt.num_update)
