"""Networks of the model zoo, hybridized: the first prediction and the first training step."""

from __future__ import annotations


def predict(mx, name, extent=64):
    """Two images."""
    net = mx.gluon.model_zoo.vision.get_model(name, classes=10)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    return net(mx.nd.random.uniform(shape=(2, 3, extent, extent))).sum().asscalar()


def train(mx, name, extent=64):
    """A step."""
    net = mx.gluon.model_zoo.vision.get_model(name, classes=10)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    with mx.autograd.record():
        value = loss(net(mx.nd.random.uniform(shape=(2, 3, extent, extent))), mx.nd.array([0, 1]))
    value.backward()
    trainer.step(2)
    return value.mean().asscalar()
