"""Every way to save and load: arrays as list, dict and sparse, symbols, parameters, exports,
SymbolBlock, trainer states, pickles, RecordIO.
"""

import os
import pickle

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

rng = np.random.RandomState(29)
a, b = nd.array(rng.normal(size=(2, 3))), nd.arange(4, dtype="int32")
nd.save("list", [a, b])
nd.save(
    "dict",
    {
        "a": a,
        "b": b,
        "h": a.astype("float16"),
        "s": nd.array([[0, 1], [0, 0]]).tostype("csr"),
        "r": nd.array([[0, 1], [0, 0]]).tostype("row_sparse"),
    },
)
print([(x.dtype.__name__, x.shape) for x in nd.load("list")])
print(sorted((k, v.stype, v.dtype.__name__) for k, v in nd.load("dict").items()))
with open("list", "rb") as f:
    print(len(nd.load_frombuffer(f.read())))
print((pickle.loads(pickle.dumps(a)) == a).min().asscalar())


def make(prefix):
    net = nn.HybridSequential(prefix=prefix)
    with net.name_scope():
        net.add(
            nn.Conv2D(4, 3, padding=1, in_channels=1, use_bias=False),
            nn.BatchNorm(in_channels=4),
            nn.Activation("relu"),
            nn.Flatten(),
            nn.Dense(3, in_units=64),
        )
    return net


net = make("net_")
net.initialize()
for p in net.collect_params().values():
    if p.grad_req != "null":
        p.set_data(nd.array(rng.normal(0, 0.3, p.shape)))
x = nd.array(rng.normal(0, 1, (2, 1, 4, 4)))
trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
for _ in range(2):
    with autograd.record():
        loss = (net(x) ** 2).sum()
    loss.backward()
    trainer.step(2)
out = net(x)
print("%.5f" % loss.asscalar(), out.asnumpy().round(3)[0].tolist())
net.save_parameters("net.params")
other = make("other_")
other.load_parameters("net.params", ctx=mx.cpu())
print(np.allclose(other(x).asnumpy(), out.asnumpy(), atol=1e-6), sorted(nd.load("net.params"))[:3])
net.collect_params().save("collected.params", strip_prefix="net_")
third = make("net_")
third.collect_params().load("collected.params", ctx=mx.cpu(), restore_prefix="net_")
print(np.allclose(third(x).asnumpy(), out.asnumpy(), atol=1e-6))
net.hybridize()
net(x)
net.export("exported", epoch=7)
print(sorted(f for f in os.listdir(".") if f.startswith("exported")))
block = gluon.SymbolBlock.imports(
    "exported-symbol.json", ["data"], "exported-0007.params", ctx=mx.cpu()
)
print(np.allclose(block(x).asnumpy(), out.asnumpy(), atol=1e-5))
sym, arg, aux = mx.model.load_checkpoint("exported", 7)
mod = mx.mod.Module(sym, label_names=None)
mod.bind(for_training=False, data_shapes=[("data", (2, 1, 4, 4))])
mod.set_params(arg, aux)
mod.forward(mx.io.DataBatch([x]))
print(np.allclose(mod.get_outputs()[0].asnumpy(), out.asnumpy(), atol=1e-5), sorted(aux))
print(sym.list_outputs(), len(sym.get_internals().list_outputs()))
trainer.save_states("trainer.states")
trainer.load_states("trainer.states")
mod.save_params("mod.params")
print(sorted(nd.load("mod.params"))[:2])
try:
    make("wrong_").load_parameters("list")
except Exception as error:
    print("refused")
net.cast("float16")
net.save_parameters("half.params")
print(
    nd.load("half.params")["4.weight"].dtype.__name__
    if "4.weight" in nd.load("half.params")
    else sorted(nd.load("half.params"))
)
record = mx.recordio.MXIndexedRecordIO("made.idx", "made.rec", "w")
for i in range(5):
    record.write_idx(
        i,
        mx.recordio.pack(
            mx.recordio.IRHeader(0, [i, i * 2.0] if i % 2 else float(i), i, 0), b"record %d" % i
        ),
    )
record.close()
record = mx.recordio.MXIndexedRecordIO("made.idx", "made.rec", "r")
for i in (3, 0):
    header, content = mx.recordio.unpack(record.read_idx(i))
    print(header.id, np.array(header.label).tolist(), content)
print(record.keys)
