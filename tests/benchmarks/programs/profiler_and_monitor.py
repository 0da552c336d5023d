"""A profiled and monitored training: the profiler's file and table, Monitor in Module, hooks and
summary in gluon.
"""

import json
import logging
import os

import mxnet as mx
import numpy as np
from mxnet import gluon, nd, profiler
from mxnet.gluon import nn

rng = np.random.RandomState(27)
profiler.set_config(profile_all=True, aggregate_stats=True, filename="profile.json")
profiler.set_state("run")
X, Y = rng.normal(0, 1, (60, 8)).astype("float32"), rng.randint(0, 3, 60).astype("float32")
data = mx.sym.Variable("data")
net = mx.sym.FullyConnected(
    mx.sym.Activation(
        mx.sym.FullyConnected(data, num_hidden=6, name="fc1"), act_type="relu", name="act"
    ),
    num_hidden=3,
    name="fc2",
)
net = mx.sym.SoftmaxOutput(net, name="softmax")
lines = []


class Lines(logging.Handler):
    def emit(self, record):
        lines.append(record.getMessage())


logging.getLogger().addHandler(Lines())
logging.getLogger().setLevel(logging.INFO)
monitor = mx.mon.Monitor(
    2,
    stat_func=lambda d: mx.nd.norm(d) / np.sqrt(d.size),
    pattern=".*weight|(?!.*backward).*output",
    sort=True,
)
mod = mx.mod.Module(net)
start = {
    "fc1_weight": rng.normal(0, 0.3, (6, 8)),
    "fc1_bias": np.zeros(6),
    "fc2_weight": rng.normal(0, 0.3, (3, 6)),
    "fc2_bias": np.zeros(3),
}
task = profiler.Task(domain=profiler.Domain("mine"), name="training")
task.start()
mod.fit(
    mx.io.NDArrayIter(X, Y, 20),
    num_epoch=1,
    monitor=monitor,
    arg_params={k: nd.array(v) for k, v in start.items()},
    optimizer_params={"learning_rate": 0.1},
)
task.stop()
shown = [line.split() for line in lines if line.startswith("Batch:")]
print([(s[1], s[2], "%.4f" % float(s[3])) for s in shown])
print(any("Train-accuracy" in line for line in lines), any("Time cost" in line for line in lines))
counter = profiler.Counter(profiler.Domain("mine"), "steps", 5)
counter += 3
counter.decrement(1)
profiler.Marker(profiler.Domain("mine"), "here").mark("process")
nd.waitall()
profiler.set_state("stop")
table = profiler.dumps()
print(isinstance(table, str), "FullyConnected" in table, "Profile Statistics" in table)
profiler.dump()
with open("profile.json") as f:
    events = json.load(f)["traceEvents"]
print(len(events) > 10, os.path.exists("profile.json"))
block = nn.HybridSequential()
block.add(nn.Dense(4, activation="relu", in_units=8), nn.Dense(2, in_units=4))
block.initialize(mx.init.Constant(0.05))
calls = []
handle = block[0].register_forward_hook(
    lambda b, i, o: calls.append((b.name.split("_")[-1], i[0].shape, o.shape))
)
block.register_forward_pre_hook(lambda b, i: calls.append(len(i)))
print("%.4f" % block(nd.array(X)).sum().asscalar(), calls)
handle.detach()
block(nd.array(X[:1]))
print(len(calls))
block.summary(nd.ones((1, 8)))
