"""Fine-tuning: a zoo network's features with a new output, learning rates by group, frozen
layers, a schedule, symbols of features.
"""

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, init, nd
from mxnet.gluon import nn
from mxnet.gluon.model_zoo import vision as models

rng = np.random.RandomState(32)
source = models.get_model("resnet18_v2", classes=10, prefix="source_")
source.initialize()
source(nd.zeros((1, 3, 32, 32)))
for name, p in source.collect_params().items():
    if name.endswith("weight"):
        p.set_data(nd.array(rng.normal(0, np.sqrt(2.0 / np.prod(p.shape[1:])), p.shape)))
source.save_parameters("pretrained.params")
pretrained = models.resnet18_v2(classes=10, prefix="again_")
pretrained.load_parameters("pretrained.params")
finetune = models.resnet18_v2(classes=3, prefix="fine_")
finetune.features = pretrained.features
finetune.output.initialize(init.Zero())
finetune.output.collect_params().setattr("lr_mult", 10)
for name, p in finetune.features.collect_params().items():
    if "stage1" in name or "stage2" in name:
        p.grad_req = "null"
finetune.hybridize()
y = np.arange(12) % 3
X = rng.normal(0, 0.5, (12, 3, 32, 32))
X[np.arange(12), y] += 1
X, Y = nd.array(X), nd.array(y)
trainer = gluon.Trainer(
    finetune.collect_params(), "sgd", {"learning_rate": 0.001, "wd": 0.001, "momentum": 0.9}
)
loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
for step in range(3):
    with autograd.record():
        loss = loss_fn(finetune(X), Y)
    loss.backward()
    trainer.step(12)
    print(step, "%.4f" % loss.mean().asscalar())
print(
    len([1 for p in finetune.collect_params().values() if p.grad_req == "null"]),
    trainer.learning_rate,
)
alex = models.squeezenet1_1(classes=4)
print(type(alex.features).__name__, len(alex.features), type(alex.output).__name__)
mobile = models.mobilenet_v2_0_25(classes=5)
mobile.initialize(init.Xavier())
print(mobile(nd.ones((1, 3, 32, 32))).shape)
sym = finetune(mx.sym.var("data"))
internals = sym.get_internals()
names = [n for n in internals.list_outputs() if n.endswith("_output") or n.endswith("fwd_output")]
print(len(sym.list_arguments()), len(sym.list_auxiliary_states()), sym.list_outputs())
flat = [n for n in internals.list_outputs() if "pool" in n]
block = gluon.SymbolBlock(internals[flat[-1]], mx.sym.var("data"), params=finetune.collect_params())
print(block(X[:2]).shape)
try:
    models.get_model("resnet999")
except ValueError as error:
    print("ValueError")
