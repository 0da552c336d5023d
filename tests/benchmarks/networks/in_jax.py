"""JAX's contender: the networks written by hand, channels last, one ``jax.jit`` for a step."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.benchmarks.networks.case import RATE, Case
from tests.benchmarks.networks.convolutional import VGG16


class Arrays:
    """The parameters in Gluon's order, taken one after the other while a network is computed.

    Args:
        values: the parameters; convolutions' weights are (height, width, in, out).
        training: batch norm uses the batch's statistics.
    """

    def __init__(self, values: list[Any], training: bool):
        self._values, self.training = values, training
        self._next = 0
        self.states: dict[int, Any] = {}

    def take(self, count: int) -> list[Any]:
        """The next ones."""
        self._next += count
        return self._values[self._next - count : self._next]

    def moving(self, mean: Any, var: Any) -> None:
        """New values of the last two."""
        self.states[self._next - 2], self.states[self._next - 1] = mean, var


def _convolution(p: Arrays, x: Any, stride: int = 1, bias: bool = True, padded: bool = True) -> Any:
    (weight,) = p.take(1)
    pad = weight.shape[0] // 2 if padded else 0
    x = lax.conv_general_dilated(
        x, weight, (stride, stride), [(pad, pad)] * 2, dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    return x + p.take(1)[0] if bias else x


def _pool(x: Any, kernel: int, stride: int, pad: int = 0) -> Any:
    pads = ((0, 0), (pad, pad), (pad, pad), (0, 0))
    window, strides = (1, kernel, kernel, 1), (1, stride, stride, 1)
    return lax.reduce_window(x, -jnp.inf, lax.max, window, strides, pads)


def _dense(p: Arrays, x: Any) -> Any:
    weight, bias = p.take(2)
    return x @ weight.T + bias


def _flat(x: Any) -> Any:
    return x.transpose(0, 3, 1, 2).reshape(x.shape[0], -1)  # in Gluon's order


def _batch_norm(p: Arrays, x: Any) -> Any:
    gamma, beta, mean, var = p.take(4)
    if p.training:
        old = mean, var
        mean = x.mean((0, 1, 2))
        var = jnp.square(x - mean).mean((0, 1, 2))
        p.moving(old[0] * 0.9 + mean * 0.1, old[1] * 0.9 + var * 0.1)
    scale = gamma * lax.rsqrt(var + 1e-5)
    return x * scale + (beta - mean * scale)


def lenet(p: Arrays, x: Any) -> Any:
    """LeNet."""
    for _ in range(2):
        x = _pool(jax.nn.relu(_convolution(p, x, padded=False)), 2, 2)
    return _dense(p, jax.nn.relu(_dense(p, _flat(x))))


def resnet(p: Arrays, x: Any, kind: str, blocks: tuple[int, ...], width: int = 64) -> Any:
    """ResNet v1."""

    def normalized(x: Any, stride: int = 1) -> Any:
        return _batch_norm(p, _convolution(p, x, stride, bias=False))

    x = _pool(jax.nn.relu(normalized(x, 2)), 3, 2, 1)
    for stage, count in enumerate(blocks):
        for block in range(count):
            stride = 2 if stage and not block else 1
            out = jax.nn.relu(normalized(x, stride))
            if kind == "bottleneck":
                out = jax.nn.relu(normalized(out))
            out = normalized(out)
            short = x if out.shape == x.shape else normalized(x, stride)
            x = jax.nn.relu(out + short)
    return _dense(p, x.mean((1, 2)))


def vgg16(
    p: Arrays,
    x: Any,
    width: int = 64,
    hidden: int = 4096,
    convolutions: tuple[int, ...] = VGG16,
) -> Any:
    """VGG-16."""
    for count in convolutions:
        for _ in range(count):
            x = jax.nn.relu(_convolution(p, x))
        x = _pool(x, 2, 2)
    x = jax.nn.relu(_dense(p, _flat(x)))
    return _dense(p, jax.nn.relu(_dense(p, x)))


def googlenet(p: Arrays, x: Any, divisor: int = 1, blocks: tuple[int, ...] = (2, 5, 2)) -> Any:
    """GoogLeNet."""

    def convolution(x: Any, stride: int = 1) -> Any:
        return jax.nn.relu(_convolution(p, x, stride))

    x = _pool(convolution(x, 2), 3, 2, 1)
    x = _pool(convolution(convolution(x)), 3, 2, 1)
    for number, count in enumerate(blocks):
        if number:
            x = _pool(x, 3, 2, 1)
        for _ in range(count):
            one, three = convolution(x), convolution(convolution(x))
            five, pooled = convolution(convolution(x)), convolution(_pool(x, 3, 1, 1))
            x = jnp.concatenate([one, three, five, pooled], -1)
    return _dense(p, x.mean((1, 2)))


def lstm(p: Arrays, tokens: Any, units: int, layers: int = 2) -> Any:
    """The language model; the vector of parameters is cut before."""
    pieces = p.take(4 * layers)
    (embedding,) = p.take(1)
    x = embedding[tokens]
    for layer in range(layers):
        weight, hidden_weight = pieces[2 * layer : 2 * layer + 2]
        biases = pieces[2 * layers + 2 * layer : 2 * layers + 2 * layer + 2]

        def step(carry: Any, inputs: Any, hidden_weight: Any = hidden_weight) -> Any:
            hidden, cell = carry
            enter, forget, new, out = jnp.split(inputs + hidden @ hidden_weight.T, 4, -1)
            cell = jax.nn.sigmoid(forget) * cell + jax.nn.sigmoid(enter) * jnp.tanh(new)
            hidden = jax.nn.sigmoid(out) * jnp.tanh(cell)
            return (hidden, cell), hidden

        zeros = jnp.zeros((tokens.shape[1], units))
        x = lax.scan(step, (zeros, zeros), x @ weight.T + (biases[0] + biases[1]))[1]
    return _dense(p, x.reshape(-1, units))


def _layer_norm(p: Arrays, x: Any) -> Any:
    gamma, beta = p.take(2)
    centered = x - x.mean(-1, keepdims=True)
    return centered * lax.rsqrt(jnp.square(centered).mean(-1, keepdims=True) + 1e-5) * gamma + beta


def transformer(p: Arrays, x: Any, heads: int, layers: int = 4) -> Any:
    """The encoder."""
    time, batch, units = x.shape
    for _ in range(layers):
        split = _dense(p, x).reshape(time, batch, heads, 3, units // heads)
        query, key, value = (split[:, :, :, i] for i in range(3))
        scores = jnp.einsum("qbhd,kbhd->bhqk", query, key) / np.sqrt(units // heads)
        mixed = jnp.einsum("bhqk,kbhd->qbhd", jax.nn.softmax(scores), value)
        x = _layer_norm_after(p, x, mixed.reshape(x.shape))
        x = _maps(p, x)
    return _dense(p, x.mean(0))


def _layer_norm_after(p: Arrays, x: Any, mixed: Any) -> Any:
    x = x + _dense(p, mixed)
    return _layer_norm(p, x)


def _maps(p: Arrays, x: Any) -> Any:
    wide = jax.nn.relu(_dense(p, x))
    return _layer_norm(p, x + _dense(p, wide))


def _values(case: Case, path: str) -> list[np.ndarray]:
    """Gluon's parameters as these networks have them."""
    file = np.load(path + ".npz")
    values = [file[f"arr_{i}"] for i in range(len(file.files))]
    if case.network == "lstm":
        units, layers = case.arguments["units"], case.arguments.get("layers", 2)
        shapes = [(4 * units, units)] * (2 * layers) + [(4 * units,)] * (2 * layers)
        ends = np.cumsum([np.prod(shape) for shape in shapes])[:-1]
        vector = np.split(values[0], ends)
        values[:1] = [piece.reshape(shape) for piece, shape in zip(vector, shapes, strict=True)]
    return [each.transpose(2, 3, 1, 0) if each.ndim == 4 else each for each in values]


class Contender:
    """One network that predicts and trains.

    Args:
        case: network and data.
        variant: "jit".
        parameters: path of Gluon's.
    """

    def __init__(self, case: Case, variant: str, parameters: str):
        network = globals()[case.network]
        x, y = case.data()
        if case.vocabulary is not None:
            self._x = jnp.asarray(x.astype(np.int32))
        else:
            self._x = jnp.asarray(x.transpose(0, 2, 3, 1) if x.ndim == 4 else x)
        self._y = jnp.asarray(y)
        self._p = [jnp.array(each) for each in _values(case, parameters)]

        def predict(p: list[Any], x: Any) -> Any:
            return network(Arrays(p, False), x, **case.arguments)

        def loss(p: list[Any], x: Any, y: Any) -> Any:
            arrays = Arrays(p, True)
            logs = jax.nn.log_softmax(network(arrays, x, **case.arguments))
            return -jnp.take_along_axis(logs, y[:, None], 1).mean(), arrays.states

        def train(p: list[Any], x: Any, y: Any) -> Any:
            (value, states), grads = jax.value_and_grad(loss, has_aux=True)(p, x, y)
            stepped = [a - RATE * g for a, g in zip(p, grads, strict=True)]
            return value, [states.get(i, each) for i, each in enumerate(stepped)]

        self._predict, self._train = jax.jit(predict), jax.jit(train, donate_argnums=0)

    def predict(self) -> Any:
        """The outputs, computed."""
        return self._predict(self._p, self._x).block_until_ready()

    def train(self) -> Any:
        """One step of training; the mean loss, computed."""
        value, self._p = self._train(self._p, self._x, self._y)
        return value.block_until_ready()

    def finish(self) -> None:
        """Wait for the parameters."""
        jax.block_until_ready(self._p)

    @staticmethod
    def numpy(value: Any) -> np.ndarray:
        """The array."""
        return np.asarray(value)
