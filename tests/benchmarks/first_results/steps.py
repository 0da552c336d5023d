"""The first training step of small networks, operator by operator and hybridized."""

from __future__ import annotations

PERCEPTRON, LENET = (64, 784), (64, 1, 28, 28)


def network(mx, shape):
    """The perceptron or LeNet, whichever takes batches of this shape."""
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    if shape == LENET:
        net.add(nn.Conv2D(20, 5, activation="relu"), nn.MaxPool2D(2, 2))
        net.add(nn.Conv2D(50, 5, activation="relu"), nn.MaxPool2D(2, 2), nn.Flatten())
        net.add(nn.Dense(500, activation="relu"), nn.Dense(10))
    else:
        net.add(nn.Dense(256, activation="relu"), nn.Dense(128, activation="relu"), nn.Dense(10))
    return net


def step(mx, shape, hybridize=False):
    """Forward, backward and update of one batch; the loss."""
    net = network(mx, shape)
    net.initialize(mx.init.Xavier())
    if hybridize:
        net.hybridize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    x = mx.nd.random.uniform(shape=shape)
    y = mx.nd.array([i % 10 for i in range(shape[0])])
    with mx.autograd.record():
        value = loss(net(x), y)
    value.backward()
    trainer.step(shape[0])
    return value.mean().asscalar()


def step_on_two(mx, compress=False):
    """The same on two CPU contexts, whose gradients the store sums; the loss of the first half."""
    contexts = [mx.cpu(0), mx.cpu(1)]
    net = network(mx, PERCEPTRON)
    net.initialize(mx.init.Xavier(), ctx=contexts)
    compression = {"type": "2bit", "threshold": 0.5} if compress else None
    trainer = mx.gluon.Trainer(
        net.collect_params(), "sgd", {"learning_rate": 0.1}, compression_params=compression
    )
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    batch = mx.nd.random.uniform(shape=PERCEPTRON), mx.nd.arange(64) % 10
    x, y = (mx.gluon.utils.split_and_load(each, contexts) for each in batch)
    with mx.autograd.record():
        values = [loss(net(part), labels) for part, labels in zip(x, y)]  # noqa: B905
    mx.autograd.backward(values)
    trainer.step(64)
    return values[0].mean().asscalar()


def network_torch(torch, shape):
    """The same network in PyTorch."""
    nn = torch.nn
    if shape == LENET:
        return nn.Sequential(
            nn.Conv2d(1, 20, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.ReLU(),
            nn.MaxPool2d(2), nn.Flatten(), nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10),
        )  # fmt: skip
    return nn.Sequential(
        nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10)
    )


def step_torch(torch, shape):
    """``step`` in PyTorch."""
    net = network_torch(torch, shape)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.rand(shape)
    y = torch.arange(shape[0]) % 10
    loss = torch.nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()
