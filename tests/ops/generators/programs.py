"""Programs that draw random numbers, with their results.

Under MXNet 1.9.1, ``python programs.py > mxnet_numbers.json`` records what it draws.
"""

from __future__ import annotations

import json
import random as python_random
from collections.abc import Callable
from typing import Any

import numpy as np


def draw(mx: Any) -> dict[str, list[list[float]]]:
    """Some numbers of each program.

    Args:
        mx: MXNet, or mixnet.
    """
    nd, of_numpy, programs = mx.nd, mx.np.random, {}
    random, gluon, autograd = nd.random, mx.gluon, mx.autograd

    def program(run: Callable[[], Any]) -> None:
        programs[run.__name__] = run

    @program
    def uniform() -> Any:
        yield random.uniform(-1, 2, shape=(3,))
        yield random.uniform(shape=(200,))
        yield random.uniform(shape=(70000,))
        yield random.uniform(shape=(100,), dtype="float64")
        yield random.uniform(shape=(100,), dtype="float16")
        yield random.uniform(shape=(3,))

    @program
    def normal() -> Any:
        yield random.normal(1, 2, shape=(5,))
        yield random.normal(shape=(300,))
        yield random.normal(shape=(70000,))
        yield random.normal(shape=(100,), dtype="float64")
        yield random.normal(shape=(3,))

    @program
    def integers() -> Any:
        yield random.randint(0, 1000, shape=(5,))
        yield random.randint(-5, 10**10, shape=(70,), dtype="int64")

    @program
    def other_distributions() -> Any:
        yield random.exponential(2.0, shape=(5,))
        chances = nd.array([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2]])
        yield random.multinomial(chances, shape=10)

    @program
    def gammas() -> Any:
        for dtype in ("float32", "float64", "float16"):
            for alpha, size in ((2.5, 5), (0.3, 70), (1.0, 9), (200.0, 3)):
                yield random.gamma(alpha, 1.7, shape=(size,), dtype=dtype)
            yield random.uniform(shape=(2,))
        yield random.gamma(2.5, 1.7, shape=(70000,))
        yield random.gamma_like(nd.ones((3, 2)), alpha=0.7, beta=2)
        yield random.uniform(shape=(2,))

    @program
    def poissons() -> Any:
        for dtype in ("float32", "float64", "float16"):
            for mean, size in ((0, 3), (0.7, 70), (11.9, 5), (12, 70), (300, 5)):
                yield random.poisson(mean, shape=(size,), dtype=dtype)
            yield random.uniform(shape=(2,))
        for mean in (4, 30, 1e5):
            yield random.poisson(mean, shape=(70000,))
        yield random.uniform(shape=(2,))

    @program
    def negative_binomials() -> Any:
        for dtype in ("float32", "float64", "float16"):
            for k, p in ((3, 0.4), (0, 0.5), (4, 1), (30, 0.2)):
                yield random.negative_binomial(k, p, shape=(70,), dtype=dtype)
            for mean, spread in ((2.5, 0.4), (3, 0), (20, 2)):
                yield random.generalized_negative_binomial(mean, spread, shape=(70,), dtype=dtype)
            yield random.uniform(shape=(2,))

    @program
    def shuffled() -> Any:
        yield random.shuffle(nd.arange(30))
        yield random.shuffle(nd.arange(20).reshape((10, 2)))

    @program
    def parameters_in_arrays() -> Any:
        low, high = nd.array([0, 1.0]), nd.array([1.0, 3.0])
        yield random.uniform(low, high, shape=(2,))
        yield random.normal(low, high, shape=(2,))

    @program
    def parameters_of_attempts_in_arrays() -> Any:
        first, second = nd.array([[1.0, 2.5, 0.3]]), nd.array([[0.2, 0.7, 0.4]])
        for size in (None, 3, (2, 40)):
            shape = {} if size is None else {"shape": size}
            for dtype in ("float32", "float64", "float16"):
                yield random.gamma(first, second, dtype=dtype, **shape)
                yield random.poisson(first * 20, dtype=dtype, **shape)
            yield random.negative_binomial(nd.array([3, 9]), nd.array([0.4, 0.9]), **shape)
            yield random.generalized_negative_binomial(first, second, **shape)
            yield random.uniform(shape=(2,))
        yield nd.sample_gamma(first, second, shape=30000)
        first, second = mx.np.array([1.0, 2.5, 0.3]), mx.np.array([0.2, 0.7, 0.4])
        yield of_numpy.gamma(first, second)
        yield of_numpy.gamma(first, 2.0, size=(4, 3))
        yield of_numpy.beta(first, second)
        yield of_numpy.uniform(size=(2,))

    @program
    def unique_zipfian() -> Any:
        for end, shape in ((100, (2, 5)), (1000, (3, 400)), (1000, (1500, 2)), (5, (1, 5))):
            yield from nd._internal._sample_unique_zipfian(range_max=end, shape=shape)
            yield random.uniform(shape=(2,))
        yield from nd.contrib.rand_zipfian(nd.array([3]), 4, 20)

    @program
    def dropout() -> Any:
        for attributes in ({"p": 0.5}, {"p": 0.2, "axes": (0,)}):
            with autograd.record():
                dropped = nd.Dropout(nd.ones((12, 4)), **attributes)
            yield dropped

    @program
    def dropout_of_other_dtypes() -> Any:
        for dtype in ("float64", "float16"):
            with autograd.record():
                yield nd.Dropout(nd.ones((12, 4), dtype=dtype), p=0.5)

    @program
    def recurrent_layers() -> Any:
        for dtype in ("float32", "float64"):
            for layer in (gluon.rnn.LSTM, gluon.rnn.GRU):
                net = layer(3, num_layers=2, dropout=0.5, bidirectional=True)
                net.cast(dtype)
                net.initialize(mx.init.Normal(0.5))
                with autograd.record():
                    yield net((nd.arange(16).reshape((2, 2, 4)) / 10).astype(dtype))

    @program
    def recurrent_cells() -> Any:
        for cell in (
            gluon.rnn.ZoneoutCell(gluon.rnn.LSTMCell(3, input_size=4), 0.3, 0.4),
            gluon.contrib.rnn.VariationalDropoutCell(
                gluon.rnn.GRUCell(3, input_size=4), 0.2, 0.3, 0.4
            ),
        ):
            cell.initialize(mx.init.Normal(0.5))
            with autograd.record():
                outputs, _ = cell.unroll(3, nd.ones((2, 3, 4)), merge_outputs=True)
            yield outputs

    picture = (np.arange(6 * 8 * 3).reshape(6, 8, 3) * 37 % 256).astype("f")

    @program
    def images() -> Any:
        change = nd.image
        for dtype in ("float32", "uint8"):
            image = nd.array(picture, dtype=dtype)
            for _ in range(4):
                yield change.random_flip_left_right(image)
                yield change.random_flip_top_bottom(image)
            yield change.random_brightness(image, 0.5, 1.5)
            yield change.random_contrast(image, 0.5, 1.5)
            yield change.random_lighting(image, 0.5)
            for _ in range(3):
                yield change.random_color_jitter(image, 0.3, 0.4, 0.0, 0.0)
        yield change.random_hue(nd.array(picture), 0.5, 1.5)
        for _ in range(3):
            yield change.random_color_jitter(nd.array(picture), 0.3, 0.4, 0.0, 0.2)
        yield random.uniform(shape=(3,))

    @program
    def transforms_of_a_data_loader() -> Any:
        transforms, data = gluon.data.vision.transforms, gluon.data
        steps = transforms.Compose(
            [
                transforms.RandomResizedCrop(4),
                transforms.RandomFlipLeftRight(),
                transforms.RandomColorJitter(0.3, 0.4),
                transforms.RandomLighting(0.1),
                transforms.ToTensor(),
            ]
        )
        python_random.seed(5)
        np.random.seed(5)
        pictures = data.ArrayDataset(nd.array(np.stack([picture] * 5)), nd.arange(5))
        loader = data.DataLoader(pictures.transform_first(steps), 2, shuffle=True)
        for _ in range(2):
            for batch, labels in loader:
                yield batch
                yield labels

    @program
    def numpy() -> Any:
        yield of_numpy.uniform(-1, 2, size=(5,))
        yield of_numpy.normal(1, 2, size=(5,))
        yield of_numpy.normal(size=(3,), dtype="float64")
        yield of_numpy.randint(0, 1000, size=(5,))
        yield of_numpy.choice(100, size=(5,))
        yield of_numpy.choice(3, size=(5,), p=mx.np.array([0.2, 0.3, 0.5]))
        yield of_numpy.exponential(2.0, size=(5,))
        yield of_numpy.gumbel(size=(5,))
        yield of_numpy.logistic(size=(5,))
        yield of_numpy.rayleigh(2.0, size=(5,))
        yield of_numpy.weibull(2.0, size=(5,))
        yield of_numpy.pareto(2.0, size=(5,))
        yield of_numpy.power(2.0, size=(5,))
        yield of_numpy.lognormal(size=(5,))
        yield mx.npx.random.bernoulli(0.3, size=(9,))
        for places, count in ((10, 5), (10, 10), (7, 2), (100, 3)):
            yield of_numpy.choice(places, size=(count,), replace=False)
        chances = mx.np.ones(10) / 10
        yield of_numpy.choice(10, size=(5,), replace=False, p=chances)
        yield of_numpy.uniform(size=(3,))

    @program
    def counts_of_categories() -> Any:
        chances = [0.2, 0.3, 0.5]
        yield of_numpy.multinomial(5, chances)
        yield of_numpy.multinomial(20, chances, size=(2, 2))
        yield of_numpy.multinomial(30, mx.np.array(chances, dtype="float64"), size=3)
        yield of_numpy.uniform(size=(3,))

    @program
    def langevin_dynamics() -> Any:
        for dtype in ("float32", "float64", "float16"):
            sgld = mx.optimizer.SGLD(learning_rate=0.25, wd=0.1)
            weight = nd.ones((3, 40), dtype=dtype)
            for _ in range(2):
                sgld.update(0, weight, nd.ones((3, 40), dtype=dtype), None)
            yield weight[:, ::7]

    def trained(hybrid: bool) -> Any:
        net = gluon.nn.HybridSequential()
        net.add(
            gluon.nn.Dense(64, activation="relu"), gluon.nn.Dropout(0.5),
            gluon.nn.Dense(32, activation="tanh"), gluon.nn.Dropout(0.2), gluon.nn.Dense(10),
        )  # fmt: skip
        net.initialize(mx.init.Xavier())
        if hybrid:
            net.hybridize()
        data, labels = random.uniform(shape=(16, 50)), nd.arange(16) % 10
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.05})
        for _ in range(4):
            with autograd.record():
                loss = gluon.loss.SoftmaxCrossEntropyLoss()(net(data), labels)
            loss.backward()
            trainer.step(16)
            yield loss.mean()

    @program
    def training() -> Any:
        yield from trained(False)

    @program
    def hybridized_training() -> Any:
        yield from trained(True)

    @program
    def order_of_a_graph() -> Any:
        class Crossed(gluon.HybridBlock):
            """Draws in another order than that of a walk from its outputs."""

            def hybrid_forward(self, F: Any, x: Any) -> Any:
                one, other = F.Dropout(x, p=0.5), F.LeakyReLU(F.Dropout(x, p=0.3))
                noise = F.random.normal(shape=(3, 4)) + F.random.uniform(shape=(3, 4))
                return F.concat(other, one * 2, noise, F.Dropout(other, p=0.2), dim=1), one

        net, data = Crossed(), mx.nd.ones((3, 4))
        outputs = []
        for is_hybrid in (False, True):
            net.hybridize(is_hybrid)
            with mx.autograd.train_mode():
                outputs += [*net(data), *net(data)]
        yield from outputs
        inner, outer = net(mx.sym.Variable("data")), gluon.nn.HybridSequential()
        loaded = gluon.SymbolBlock(inner[0] + 1, mx.sym.Variable("data"))
        outer.add(gluon.nn.Dropout(0.5), loaded)
        with mx.autograd.train_mode():
            yield loaded(data)
            yield outer(data)
        yield from (
            inner[0].bind(mx.cpu(), {"data": data}, {"data": data.copy()}).forward(is_train=True)
        )
        yield random.uniform(shape=(3,))

    @program
    def module() -> Any:
        sym = mx.sym
        hidden = sym.FullyConnected(sym.Variable("data"), num_hidden=20, name="first")
        hidden = sym.Dropout(sym.Activation(hidden, act_type="relu"), p=0.4)
        output = sym.FullyConnected(hidden, num_hidden=5, name="second")
        data = np.linspace(0, 1, 480, dtype="f").reshape(40, 12) * np.array([1, -1] * 6, "f")
        batches = mx.io.NDArrayIter(data, np.arange(40) % 5, 10)
        model = mx.mod.Module(sym.SoftmaxOutput(output, name="softmax"))
        model.fit(
            batches, num_epoch=2, initializer=mx.init.Normal(0.3),
            optimizer_params={"learning_rate": 0.1},
        )  # fmt: skip
        parameters, _ = model.get_params()
        yield parameters["first_weight"]
        yield parameters["second_bias"]

    @program
    def initializers() -> Any:
        kinds = (mx.init.Uniform(), mx.init.Normal(), mx.init.Xavier(), mx.init.MSRAPrelu())
        for use_numpy in (False, True):
            if use_numpy:
                mx.npx.set_np()
            try:
                for initializer in kinds:
                    parameter = gluon.Parameter("a_weight", shape=(30, 40))
                    parameter.initialize(initializer)
                    yield parameter.data()
                    if use_numpy:
                        continue
                    parameter = gluon.Parameter("a_weight", shape=(3, 4), dtype="float64")
                    parameter.initialize(initializer)
                    yield parameter.data()
            finally:
                mx.npx.reset_np()

    results = {}
    for name, run in programs.items():
        mx.random.seed(5)
        results[name] = [_some(each.asnumpy()) for each in run()]
    mx.random.seed(3, ctx=mx.cpu())
    results["seed of a context"] = [
        _some(random.uniform(shape=(2,)).asnumpy()),
        _some(of_numpy.uniform(size=(2,)).asnumpy()),
    ]
    return results


def _some(numbers: Any) -> list[float]:
    """The first and last numbers, and their sum."""
    flat = np.asarray(numbers, np.float64).ravel()
    return [*flat[:5].tolist(), *flat[-5:].tolist(), float(flat.sum())]


if __name__ == "__main__":
    import mxnet

    print(json.dumps(draw(mxnet), indent=1))
