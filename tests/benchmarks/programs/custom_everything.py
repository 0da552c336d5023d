"""One's own initializer, optimizer, scheduler, metric, loss, dataset, sampler, transforms and
callback in one small training.
"""

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn
from mxnet.gluon.data.vision import transforms


@mx.init.register
@mx.init.alias("striped")
class Stripes(mx.init.Initializer):
    def __init__(self, scale=0.1):
        super().__init__(scale=scale)
        self.scale = scale

    def _init_weight(self, name, arr):
        n = int(np.prod(arr.shape))
        arr[:] = (np.sin(np.arange(n) * 0.7) * self.scale).reshape(arr.shape)

    def _init_bias(self, name, arr):
        arr[:] = 0.01


@mx.optimizer.register
class SignMomentum(mx.optimizer.Optimizer):
    def __init__(self, momentum=0.9, **kwargs):
        super(SignMomentum, self).__init__(**kwargs)
        self.momentum = momentum

    def create_state(self, index, weight):
        return nd.zeros(weight.shape, ctx=weight.context, dtype=weight.dtype)

    def update(self, index, weight, grad, state):
        self._update_count(index)
        lr, wd = self._get_lr(index), self._get_wd(index)
        grad = grad * self.rescale_grad + wd * weight
        state[:] = self.momentum * state + (1 - self.momentum) * grad
        weight[:] = weight - lr * nd.sign(state)


class Cyclical(mx.lr_scheduler.LRScheduler):
    def __init__(self, low, high, period):
        super().__init__(base_lr=low)
        self.low, self.high, self.period = low, high, period

    def __call__(self, num_update):
        at = num_update % self.period / self.period
        return self.low + (self.high - self.low) * (1 - abs(2 * at - 1))


@mx.metric.register
class Within(mx.metric.EvalMetric):
    def __init__(self, tolerance=0.5, name="within", **kwargs):
        super().__init__(name, **kwargs)
        self.tolerance = tolerance

    def update(self, labels, preds):
        for label, pred in zip(labels, preds):
            self.sum_metric += float(
                (nd.abs(label - pred.reshape(label.shape)) < self.tolerance).sum().asscalar()
            )
            self.num_inst += label.size


class LogCosh(gluon.loss.Loss):
    def __init__(self, weight=1.0, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F, pred, label, sample_weight=None):
        diff = F.reshape_like(pred, label) - label
        loss = F.log((F.exp(diff) + F.exp(-diff)) / 2)
        loss = gluon.loss._apply_weighting(F, loss, self._weight, sample_weight)
        return F.mean(loss, axis=self._batch_axis, exclude=True)


class Brightness(gluon.data.Dataset):
    def __init__(self, n, transform=None):
        rng = np.random.RandomState(24)
        self.images = [
            mx.nd.array(rng.randint(0, 256, (6, 6, 3)) * (0.3 + 0.7 * i / n), dtype="uint8")
            for i in range(n)
        ]
        self.transform_image = transform

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image = self.images[i]
        label = image.astype("float32").mean().asscalar() / 32
        return (self.transform_image(image) if self.transform_image else image), label


class EveryOther(gluon.data.Sampler):
    def __init__(self, length):
        self._length = length

    def __iter__(self):
        return iter(list(range(0, self._length, 2)) + list(range(1, self._length, 2)))

    def __len__(self):
        return self._length


class Invert(nn.Block):
    def forward(self, x):
        return 1 - x


transform = transforms.Compose(
    [
        transforms.Cast("float32"),
        transforms.CenterCrop(4),
        transforms.ToTensor(),
        Invert(),
        transforms.Normalize((0.5, 0.5, 0.5), (0.25, 0.25, 0.5)),
    ]
)
data = Brightness(48, transform)
print(data[0][0].shape, data[0][0].dtype, "%.4f %.4f" % (data[5][0].mean().asscalar(), data[5][1]))
loader = gluon.data.DataLoader(data, batch_size=12, sampler=EveryOther(48), last_batch="rollover")
net = nn.HybridSequential()
net.add(nn.Flatten(), nn.Dense(16, activation="softsign"), nn.Dense(1))
net.initialize(init="striped")
net.hybridize()
loss_fn, metric = LogCosh(weight=2.0), mx.metric.create("within", tolerance=0.4)
trainer = gluon.Trainer(
    net.collect_params(), "signmomentum", {"lr_scheduler": Cyclical(0.002, 0.02, 8), "wd": 1e-4}
)
for epoch in range(6):
    metric.reset()
    total = 0.0
    for x, y in loader:
        y = y.astype("float32")
        with autograd.record():
            out = net(x)
            loss = loss_fn(out, y)
        loss.backward()
        trainer.step(x.shape[0])
        metric.update([y], [out])
        total += loss.mean().asscalar()
    print(
        epoch,
        "%.4f" % total,
        metric.get()[0],
        "%.2f" % metric.get()[1],
        "%.4f" % trainer.learning_rate,
    )
print(Stripes(0.2).dumps(), mx.init.create("striped", scale=0.3).dumps())
print(sorted(mx.metric.create("within").get_config().items())[-1], trainer.optimizer.num_update)
part, other = data.shard(3, 1), data.take(5)
print(len(part), len(other), len(data.filter(lambda item: item[1] > 2)))
