"""Small networks of the kinds that examples and lessons train, as Gluon blocks: a function with
arrays for each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mixnet import gluon
from mixnet.gluon import nn, rnn

RNG = np.random.default_rng(7)

Example = tuple[Any, list[np.ndarray]]
BLOCKS: dict[str, Callable[[], Example]] = {}
"""By name: what makes a block that is not initialized, and a batch of two for it, batch first."""


def example(make: Callable[[], Example]) -> Callable[[], Example]:
    """Add a network to the table, under the name of its function."""
    BLOCKS[make.__name__] = make
    return make


def floats(*shape: int) -> np.ndarray:
    return RNG.uniform(-1, 1, shape).astype("float32")


def whole(limit: int, *shape: int) -> np.ndarray:
    """Whole numbers below a limit, as float32: tokens, users, words."""
    return RNG.integers(0, limit, shape).astype("float32")


class Net(gluon.HybridBlock):
    """Parts by name, and the function ``forward(net, F, *inputs)`` that runs them."""

    def __init__(self, forward: Callable[..., Any], **parts: Any):
        super().__init__()
        self._forward = forward
        for name, each in parts.items():
            setattr(self, name, each)

    def hybrid_forward(self, F: Any, *args: Any, **params: Any) -> Any:
        return self._forward(self, F, *args, **params)


def chain(*parts: Any) -> nn.HybridSequential:
    net = nn.HybridSequential()
    net.add(*parts)
    return net


def conv(channels: int, kernel: int = 3, **more: Any) -> nn.Conv2D:
    return nn.Conv2D(channels, kernel, padding=kernel // 2, **more)


def unit(channels: int, kernel: int = 3, act: str = "relu", **more: Any) -> nn.HybridSequential:
    return chain(conv(channels, kernel, use_bias=False, **more), nn.BatchNorm(), nn.Activation(act))


# ---- images ---------------------------------------------------------------------------------------


@example
def lenet() -> Example:
    net = chain(
        nn.Conv2D(4, 5, activation="tanh"), nn.MaxPool2D(), nn.Conv2D(6, 3, activation="relu")
    )
    net.add(nn.AvgPool2D(), nn.Flatten(), nn.Dense(8, activation="sigmoid"), nn.Dense(5))
    return net, [floats(2, 1, 16, 16)]


@example
def residual_network() -> Example:
    def block(channels: int, stride: int) -> Net:
        def forward(net: Any, F: Any, x: Any) -> Any:
            return F.relu(net.body(x) + (net.short(x) if net.short else x))

        body = chain(unit(channels, strides=stride), conv(channels), nn.BatchNorm())
        return Net(forward, body=body, short=nn.Conv2D(channels, 1, stride) if stride > 1 else None)

    net = chain(unit(4), block(4, 1), block(8, 2), nn.GlobalAvgPool2D(), nn.Dense(5))
    return net, [floats(2, 3, 8, 8)]


@example
def stochastic_depth() -> Example:
    def forward(net: Any, F: Any, x: Any) -> Any:
        for body, alive in zip(net.bodies, (1.0, 0.75, 0.5), strict=True):
            x = x + alive * body(x)  # a prediction scales by how often the part was there
        return net.last(x)

    bodies = chain(*[chain(unit(3), conv(3)) for _ in range(3)])
    return Net(forward, bodies=bodies, last=nn.Dense(4)), [floats(2, 3, 6, 6)]


@example
def dense_connections() -> Example:
    def forward(net: Any, F: Any, x: Any) -> Any:
        for body in net.bodies:
            x = F.concat(x, body(x), dim=1)
        return net.last(x)

    bodies = chain(*[chain(nn.BatchNorm(), nn.Activation("relu"), conv(4)) for _ in range(3)])
    last = chain(nn.BatchNorm(), nn.Conv2D(4, 1), nn.AvgPool2D(), nn.Dense(3))
    return Net(forward, bodies=bodies, last=last), [floats(2, 3, 8, 8)]


@example
def fire_modules() -> Example:
    def forward(net: Any, F: Any, x: Any) -> Any:
        x = net.squeeze(x)
        return net.last(F.concat(net.one(x), net.three(x), dim=1))

    parts = {"squeeze": conv(3, 1, activation="relu"), "one": conv(4, 1, activation="relu")}
    last = chain(
        nn.MaxPool2D(3, 2, ceil_mode=True),
        nn.Dropout(0.5),
        nn.Conv2D(5, 1),
        nn.GlobalAvgPool2D(),
        nn.Flatten(),
    )
    return Net(forward, **parts, three=conv(4, activation="relu"), last=last), [floats(2, 3, 9, 9)]


@example
def channels_in_groups() -> Example:
    def forward(net: Any, F: Any, x: Any) -> Any:
        body = net.body(x)
        return F.relu(x + F.broadcast_mul(body, net.gates(body).reshape((0, 0, 1, 1))))

    gates = chain(
        nn.GlobalAvgPool2D(), nn.Dense(2, activation="relu"), nn.Dense(8, activation="sigmoid")
    )
    body = chain(unit(8, 1), unit(8, groups=4), conv(8, 1))
    return Net(forward, body=body, gates=gates), [floats(2, 8, 6, 6)]


@example
def shuffled_channels() -> Example:
    def forward(net: Any, F: Any, x: Any) -> Any:
        left, right = F.split(x, num_outputs=2, axis=1)
        x = F.concat(left, net.body(right), dim=1)
        return x.reshape((0, -4, 2, -1, -2)).swapaxes(1, 2).reshape((0, -3, -2))

    body = chain(unit(4, 1), conv(4, groups=4), nn.BatchNorm(), unit(4, 1))
    return Net(forward, body=body), [floats(2, 8, 6, 6)]


@example
def inverted_residuals() -> Example:
    def forward(net: Any, F: Any, x: Any) -> Any:
        return x + net.body(x)

    relu6 = nn.HybridLambda(lambda F, x: F.clip(x, 0, 6))
    body = chain(
        conv(12, 1, use_bias=False),
        nn.BatchNorm(),
        relu6,
        conv(12, groups=12),
        nn.BatchNorm(),
        relu6,
        conv(4, 1),
    )
    return Net(forward, body=body), [floats(2, 4, 6, 6)]


@example
def generator_of_images() -> Example:
    net = chain(
        nn.Dense(32),
        nn.HybridLambda(lambda F, x: x.reshape((-1, 8, 2, 2))),
        nn.BatchNorm(),
        nn.Activation("relu"),
    )
    net.add(nn.Conv2DTranspose(4, 4, 2, 1, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))
    net.add(nn.Conv2DTranspose(1, 4, 2, 1), nn.Activation("tanh"))
    return net, [floats(2, 6)]


@example
def discriminator_of_images() -> Example:
    net = chain(
        nn.Conv2D(4, 4, 2, 1),
        nn.LeakyReLU(0.2),
        nn.Conv2D(8, 4, 2, 1),
        nn.BatchNorm(),
        nn.LeakyReLU(0.2),
    )
    net.add(nn.Conv2D(1, 2), nn.HybridLambda(lambda F, x: F.sigmoid(x).reshape((-1,))))
    return net, [floats(2, 1, 8, 8)]


@example
def from_image_to_image() -> Example:
    def forward(net: Any, F: Any, x: Any) -> Any:
        x = net.down(x)
        return net.up(F.UpSampling(x + net.body(x), scale=2, sample_type="nearest"))

    def part(channels: int, **more: Any) -> nn.HybridSequential:
        return chain(
            nn.ReflectionPad2D(1),
            nn.Conv2D(channels, 3, **more),
            nn.InstanceNorm(),
            nn.Activation("relu"),
        )

    up = chain(nn.ReflectionPad2D(1), nn.Conv2D(3, 3, activation="tanh"))
    return Net(forward, down=part(6, strides=2), body=part(6), up=up), [floats(2, 3, 8, 8)]


@example
def super_resolution() -> Example:
    net = chain(
        conv(8, 5, activation="relu"), conv(12), gluon.contrib.nn.PixelShuffle2D(2), conv(4)
    )
    net.add(nn.HybridLambda(lambda F, x: F.depth_to_space(x, block_size=2)))
    return net, [floats(2, 1, 6, 6)]


@example
def segmentation_with_bridges() -> Example:
    def forward(net: Any, F: Any, x: Any) -> Any:
        high = net.first(x)
        low = net.up(net.second(high))
        return F.softmax(net.last(F.concat(high, low, dim=1)), axis=1)

    second = chain(nn.MaxPool2D(), unit(8))
    return Net(
        forward, first=unit(4), second=second, up=nn.Conv2DTranspose(4, 2, 2), last=conv(3, 1)
    ), [floats(2, 3, 8, 8)]


@example
def style_of_an_image() -> Example:
    def gram(F: Any, x: Any) -> Any:
        x = x.reshape((0, 0, -1))
        return F.batch_dot(x, x, transpose_b=True) / 64

    def forward(net: Any, F: Any, x: Any) -> Any:
        first = net.first(x)
        second = net.second(first)
        rows = F.slice_axis(x, axis=2, begin=1, end=None) - F.slice_axis(x, axis=2, begin=0, end=-1)
        return gram(F, first), gram(F, second), second, F.abs(rows).sum(axis=(1, 2, 3))

    second = chain(nn.AvgPool2D(), conv(6, activation="relu"))
    return Net(forward, first=conv(4, activation="relu"), second=second), [floats(2, 3, 8, 8)]


@example
def images_turned_by_what_they_show() -> Example:
    def forward(net: Any, F: Any, x: Any) -> Any:
        grid = F.GridGenerator(net.place(x), transform_type="affine", target_shape=(5, 6))
        return F.BilinearSampler(x, grid)

    place = chain(conv(2), nn.Dense(6, activation="tanh"))
    return Net(forward, place=place), [floats(2, 3, 8, 8)]


@example
def moved_taps() -> Example:
    net = chain(
        gluon.contrib.cnn.DeformableConvolution(4, (3, 3), padding=(1, 1), activation="relu"),
        nn.Dense(3),
    )
    return net, [floats(2, 2, 5, 5)]


@example
def capsules() -> Example:
    def squash(F: Any, x: Any) -> Any:
        length = F.sum(F.square(x), axis=-1, keepdims=True)
        return F.broadcast_mul(x, length / (1 + length) / F.sqrt(length + 1e-6))

    def forward(net: Any, F: Any, x: Any, weight: Any) -> Any:
        parts = squash(F, net.first(x).reshape((0, -1, 4)))
        votes = F.sum(F.broadcast_mul(F.expand_dims(F.expand_dims(parts, 2), -1), weight), axis=3)
        logits = F.zeros_like(F.slice_axis(votes, axis=3, begin=0, end=1))
        for _ in range(2):
            out = squash(
                F, F.sum(F.broadcast_mul(F.softmax(logits, axis=2), votes), axis=1, keepdims=True)
            )
            logits = logits + F.sum(F.broadcast_mul(votes, out), axis=3, keepdims=True)
        return F.norm(F.squeeze(out, axis=1), axis=-1)

    net = Net(forward, first=nn.Conv2D(4, 3, 2, activation="relu"))
    net.weight = net.params.get("weight", shape=(1, 4, 3, 4, 5))
    return net, [floats(2, 1, 5, 5)]


@example
def several_tasks() -> Example:
    def forward(net: Any, F: Any, x: Any) -> Any:
        x = net.trunk(x)
        return F.softmax(net.kind(x)), F.log_softmax(net.parity(x)), net.size(x)

    return Net(
        forward,
        trunk=nn.Dense(8, activation="softsign"),
        kind=nn.Dense(5),
        parity=nn.Dense(2),
        size=nn.Dense(1),
    ), [floats(2, 6)]


@example
def quantized_by_hand() -> Example:
    def forward(net: Any, F: Any, x: Any) -> Any:
        steps = F.clip(F.round(net.first(x) * 16), -128, 127)
        return net.last(steps / 16)

    return Net(forward, first=conv(4), last=nn.Dense(3)), [floats(2, 1, 6, 6)]


# ---- detection ------------------------------------------------------------------------------------


@example
def detector_of_one_shot() -> Example:
    def forward(net: Any, F: Any, x: Any) -> Any:
        x = net.body(x)
        anchors = F.contrib.MultiBoxPrior(x, sizes=(0.3, 0.6), ratios=(1, 2), clip=True)
        scores = net.classes(x).transpose((0, 2, 3, 1)).reshape((0, -1, 3))
        places = net.boxes(x).transpose((0, 2, 3, 1)).flatten()
        chances = F.softmax(scores, axis=-1).transpose((0, 2, 1))
        return F.contrib.MultiBoxDetection(chances, places, anchors, nms_threshold=0.5, nms_topk=20)

    body = chain(unit(4), nn.MaxPool2D(), unit(4), nn.MaxPool2D())
    return Net(forward, body=body, classes=conv(9), boxes=conv(12)), [floats(2, 3, 16, 16)]


@example
def detector_of_centers() -> Example:
    def forward(net: Any, F: Any, x: Any) -> Any:
        x = net.body(x)
        heat = F.sigmoid(net.heat(x))
        peak = F.Pooling(heat, kernel=(3, 3), pad=(1, 1), stride=(1, 1), pool_type="max")
        chances = F.where(heat == peak, heat, F.zeros_like(heat)).reshape((0, -1))
        best, where = F.topk(chances, k=4, ret_typ="both", axis=1)
        return best, where, F.exp(net.size(x))

    return Net(forward, body=unit(4), heat=conv(2), size=conv(2)), [floats(2, 3, 8, 8)]


@example
def pyramid_of_features() -> Example:
    def forward(net: Any, F: Any, x: Any, boxes: Any) -> Any:
        high = net.first(x)
        low = net.second(high)
        wide = F.contrib.BilinearResize2D(low, scale_height=2.0, scale_width=2.0)
        boxes = boxes.reshape((-1, 5))
        return F.contrib.ROIAlign(
            high + wide, boxes, pooled_size=(2, 2), spatial_scale=1.0, sample_ratio=2
        )

    boxes = np.array([[[0, 1, 1, 6, 6]], [[1, 0, 2, 5, 7]]], "float32")
    second = chain(nn.MaxPool2D(), unit(4))
    return Net(forward, first=unit(4), second=second), [floats(2, 3, 8, 8), boxes]


# ---- text and time --------------------------------------------------------------------------------


@example
def language_model() -> Example:
    def forward(net: Any, F: Any, words: Any) -> Any:
        return net.last(net.lstm(net.words(words)))

    words = nn.Embedding(11, 6)
    last = nn.Dense(11, flatten=False, params=words.params, use_bias=False)  # the same weights
    return Net(forward, words=words, lstm=rnn.LSTM(6, 2, layout="NTC", dropout=0.2), last=last), [
        whole(11, 2, 5)
    ]


@example
def writer_of_characters() -> Example:
    def forward(net: Any, F: Any, x: Any, state: Any) -> Any:
        out, (new,) = net.gru(F.one_hot(x, 7), [state.swapaxes(0, 1)])
        return net.last(out), new.swapaxes(0, 1)

    return Net(forward, gru=rnn.GRU(5, layout="NTC"), last=nn.Dense(7, flatten=False)), [
        whole(7, 2, 4),
        floats(2, 1, 5),
    ]


@example
def sentences_by_convolutions() -> Example:
    def forward(net: Any, F: Any, words: Any) -> Any:
        x = net.words(words).transpose((0, 2, 1))
        return net.last(F.concat(*[F.max(each(x), axis=2) for each in net.kernels], dim=1))

    kernels = chain(*[nn.Conv1D(3, width, activation="relu") for width in (2, 3, 4)])
    return Net(
        forward,
        words=nn.Embedding(11, 6),
        kernels=kernels,
        last=chain(nn.Dropout(0.5), nn.Dense(2)),
    ), [whole(11, 2, 7)]


@example
def text_in_images() -> Example:
    def forward(net: Any, F: Any, x: Any) -> Any:
        x = net.lstm(net.body(x).transpose((0, 3, 1, 2)).reshape((0, 0, -1)))
        scores = F.log_softmax(net.last(x), axis=-1)
        return scores, F.argmax(scores, axis=-1)

    body = chain(unit(4), nn.MaxPool2D(), unit(4))
    return Net(
        forward,
        body=body,
        lstm=rnn.LSTM(4, layout="NTC", bidirectional=True),
        last=nn.Dense(6, flatten=False),
    ), [floats(2, 1, 8, 12)]


@example
def loss_of_alignments() -> Example:
    def forward(net: Any, F: Any, x: Any, label: Any) -> Any:
        return net.loss(net.last(x), label)

    return Net(forward, last=nn.Dense(5, flatten=False), loss=gluon.loss.CTCLoss()), [
        floats(2, 6, 3),
        1 + whole(3, 2, 2),
    ]


@example
def translation_with_attention() -> Example:
    def forward(net: Any, F: Any, source: Any, target: Any) -> Any:
        memory, state = net.encoder.unroll(4, net.source(source), merge_outputs=True)
        words, outputs = net.target(target), []
        for step in range(3):
            query = F.expand_dims(state[0], 1)
            weights = F.softmax(F.batch_dot(query, memory, transpose_b=True))
            context = F.squeeze(F.batch_dot(weights, memory), axis=1)
            word = F.squeeze(F.slice_axis(words, axis=1, begin=step, end=step + 1), axis=1)
            out, state = net.decoder(F.concat(word, context, dim=1), state)
            outputs.append(out)
        return net.last(F.stack(*outputs, axis=1))

    parts = {"source": nn.Embedding(9, 5), "target": nn.Embedding(8, 5)}
    cells = {"encoder": rnn.GRUCell(6), "decoder": rnn.GRUCell(6)}
    return Net(forward, **parts, **cells, last=nn.Dense(8, flatten=False)), [
        whole(9, 2, 4),
        whole(8, 2, 3),
    ]


def attention(net: Any, F: Any, x: Any, memory: Any, mask: Any = None) -> Any:
    """Two heads of four numbers."""
    heads = [F.transpose(part(y).reshape((0, 0, 2, 4)), axes=(0, 2, 1, 3)).reshape((-3, -2))
             for part, y in ((net.query, x), (net.key, memory), (net.value, memory))]  # fmt: skip
    scores = F.batch_dot(heads[0], heads[1], transpose_b=True) / 2
    if mask is not None:
        scores = F.broadcast_add(scores, (1 - mask) * -1e4)
    out = F.batch_dot(F.softmax(scores, axis=-1), heads[2]).reshape((-4, -1, 2, -2))
    return net.out(F.transpose(out, axes=(0, 2, 1, 3)).reshape((0, 0, -3)))


def attending() -> dict[str, Any]:
    return {each: nn.Dense(8, flatten=False) for each in ("query", "key", "value", "out")}


@example
def translation_by_transformer() -> Example:
    def forward(net: Any, F: Any, source: Any, target: Any) -> Any:
        memory, x = net.words(source), net.words(target)
        memory = net.norm0(memory + net.own(memory, memory))
        steps = F.contrib.arange_like(x, axis=1)
        mask = F.broadcast_greater_equal(F.expand_dims(steps, 1), F.expand_dims(steps, 0))
        x = net.norm1(x + net.past(x, x, F.expand_dims(mask, 0)))
        x = net.norm2(x + net.cross(x, memory))
        return net.last(x + net.wide(x))

    def part() -> Net:
        return Net(attention, **attending())

    wide = chain(nn.Dense(16, flatten=False), nn.GELU(), nn.Dense(8, flatten=False))
    norms = {f"norm{i}": nn.LayerNorm() for i in range(3)}
    net = Net(
        forward,
        words=nn.Embedding(9, 8),
        own=part(),
        past=part(),
        cross=part(),
        wide=wide,
        **norms,
        last=nn.Dense(9, flatten=False),
    )
    return net, [whole(9, 2, 5), whole(9, 2, 4)]


@example
def transposed_attention() -> Example:
    def forward(net: Any, F: Any, x: Any) -> Any:
        both = net.both(x.swapaxes(0, 1))
        scores = F.contrib.interleaved_matmul_selfatt_qk(both, heads=2)
        out = F.contrib.interleaved_matmul_selfatt_valatt(both, F.softmax(scores), heads=2)
        return net.norm(x + out.swapaxes(0, 1))

    return Net(forward, both=nn.Dense(24, flatten=False), norm=nn.LayerNorm()), [floats(2, 5, 8)]


@example
def masked_words() -> Example:
    def forward(net: Any, F: Any, words: Any, kinds: Any, lengths: Any, places: Any) -> Any:
        x = net.norm(net.words(words) + net.kinds(kinds))
        x = F.SequenceMask(x.swapaxes(0, 1), lengths, use_sequence_length=True).swapaxes(0, 1)
        x = x + net.own(x, x)
        rows = F.contrib.arange_like(F.slice_axis(places, axis=1, begin=0, end=1), axis=0)
        rows = F.broadcast_like(F.expand_dims(rows, 1), places)
        chosen = F.gather_nd(x, F.stack(rows.reshape((-1,)), places.reshape((-1,)), axis=0))
        return net.last(chosen), F.tanh(F.slice_axis(x, axis=1, begin=0, end=1))

    net = Net(
        forward,
        words=nn.Embedding(9, 8),
        kinds=nn.Embedding(2, 8),
        norm=nn.LayerNorm(),
        own=Net(attention, **attending()),
        last=nn.Dense(9),
    )
    return net, [whole(9, 2, 5), whole(2, 2, 5), np.array([5, 3], "float32"), whole(3, 2, 2)]


@example
def forecast_of_series() -> Example:
    def forward(net: Any, F: Any, x: Any) -> Any:
        deep = F.relu(net.conv(F.expand_dims(x, 1))).squeeze(axis=3).transpose((0, 2, 1))
        every_second = F.slice(
            deep, begin=(None, 0, None), end=(None, None, None), step=(None, 2, None)
        )
        last = [F.slice_axis(part(y), axis=1, begin=-1, end=None).flatten()
                for part, y in ((net.gru, deep), (net.skip, every_second))]  # fmt: skip
        recent = F.slice_axis(x, axis=1, begin=-3, end=None).swapaxes(1, 2)
        return net.last(F.concat(*last, dim=1)) + net.line(recent).squeeze(axis=2)

    parts = {
        "conv": nn.Conv2D(4, (3, 3)),
        "gru": rnn.GRU(4, layout="NTC"),
        "skip": rnn.RNN(3, layout="NTC"),
    }
    return Net(forward, **parts, last=nn.Dense(3), line=nn.Dense(1, flatten=False)), [
        floats(2, 8, 3)
    ]


@example
def convolutions_into_the_past() -> Example:
    def forward(net: Any, F: Any, x: Any) -> Any:
        for number, each in enumerate(net.layers):
            pad = 2 ** (number + 1)
            gates = each(
                F.pad(
                    F.expand_dims(x, 2), mode="constant", pad_width=(0, 0, 0, 0, 0, 0, pad, 0)
                ).squeeze(axis=2)
            )
            left, right = F.split(gates, num_outputs=2, axis=1)
            x = x + F.tanh(left) * F.sigmoid(right)
        return x

    layers = chain(*[nn.Conv1D(6, 3, dilation=2**i) for i in range(2)])
    return Net(forward, layers=layers), [floats(2, 3, 9)]


@example
def tags_of_words() -> Example:
    def forward(net: Any, F: Any, words: Any, moves: Any) -> Any:
        scores = net.tags(net.lstm(net.words(words)))
        best, back = None, []
        for each in F.split(scores, num_outputs=4, axis=1, squeeze_axis=True):
            if best is None:
                best = each
                continue
            paths = F.broadcast_add(F.expand_dims(best, 2), F.expand_dims(moves, 0))
            back.append(F.argmax(paths, axis=1))
            best = F.max(paths, axis=1) + each
        tags = [F.argmax(best, axis=1)]
        for each in reversed(back):
            tags.append(F.pick(each, tags[-1], axis=1))
        return scores, F.max(best, axis=1), F.stack(*reversed(tags), axis=1)

    net = Net(
        forward,
        words=nn.Embedding(9, 4),
        lstm=rnn.LSTM(3, layout="NTC", bidirectional=True),
        tags=nn.Dense(3, flatten=False),
    )
    net.moves = net.params.get("moves", shape=(3, 3))
    return net, [whole(9, 2, 4)]


@example
def words_among_noise() -> Example:
    def forward(net: Any, F: Any, word: Any, others: Any) -> Any:
        scores = F.batch_dot(net.out(others), F.expand_dims(net.into(word), 2)).squeeze(axis=2)
        return F.sigmoid(scores)

    return Net(forward, into=nn.Embedding(11, 5), out=nn.Embedding(11, 5)), [
        whole(11, 2),
        whole(11, 2, 4),
    ]


@example
def memory_with_addresses() -> Example:
    def forward(net: Any, F: Any, x: Any, memory: Any) -> Any:
        outputs = []
        for each in F.split(x, num_outputs=3, axis=1, squeeze_axis=True):
            key = F.L2Normalization(net.key(each))
            directions = F.L2Normalization(memory, mode="spatial")
            near = F.batch_dot(directions, F.expand_dims(key, 2)).squeeze(axis=2)
            sharpness = F.Activation(net.sharp(each), act_type="softrelu")
            weights = F.softmax(F.broadcast_mul(near, sharpness))
            outer = F.batch_dot(F.expand_dims(weights, 2), F.expand_dims(net.write(each), 1))
            memory = F.broadcast_mul(memory, 1 - F.expand_dims(weights, 2)) + outer
            outputs.append(F.batch_dot(F.expand_dims(weights, 1), memory).squeeze(axis=1))
        return F.stack(*outputs, axis=1), memory

    parts = {"key": nn.Dense(4), "sharp": nn.Dense(1), "write": nn.Dense(4)}
    return Net(forward, **parts), [floats(2, 3, 5), floats(2, 6, 4)]


@example
def tree_of_cells() -> Example:
    def forward(net: Any, F: Any, words: Any) -> Any:
        leaves = F.split(net.words(words), num_outputs=4, axis=1, squeeze_axis=True)
        nodes = [net.join(F.concat(a, b, dim=1)) for a, b in (leaves[:2], leaves[2:4])]
        return net.last(net.join(F.concat(*nodes, dim=1)))

    join = Net(
        lambda net, F, x: F.tanh(net.value(x)) * F.sigmoid(net.gate(x)),
        value=nn.Dense(4),
        gate=nn.Dense(4),
    )
    return Net(forward, words=nn.Embedding(7, 4), join=join, last=nn.Dense(3)), [whole(7, 2, 4)]


@example
def loop_over_time() -> Example:
    def forward(net: Any, F: Any, x: Any, state: Any) -> Any:
        outs, last = F.contrib.foreach(
            lambda each, s: (F.tanh(each + s), 0.5 * s + each), x.swapaxes(0, 1), state
        )
        return outs.swapaxes(0, 1), last

    return Net(forward), [floats(2, 4, 3), floats(2, 3)]


# ---- tables, chances, decisions -------------------------------------------------------------------


@example
def autoencoder() -> Example:
    net = chain(
        nn.Dense(5, activation="relu"), nn.Dense(3), nn.ELU(), nn.Dense(5), nn.SELU(), nn.Dense(8)
    )
    return net, [floats(2, 8)]


@example
def variational_autoencoder() -> Example:
    def forward(net: Any, F: Any, x: Any, noise: Any) -> Any:
        mean, log_var = F.split(net.encoder(x), num_outputs=2, axis=1)
        out = F.sigmoid(net.decoder(mean + F.exp(0.5 * log_var) * noise))
        loss = 0.5 * F.sum(1 + log_var - mean**2 - F.exp(log_var), axis=1)
        return out, loss - F.sum(x * F.log(out + 1e-6), axis=1)

    return Net(
        forward, encoder=chain(nn.Dense(6, activation="tanh"), nn.Dense(4)), decoder=nn.Dense(8)
    ), [floats(2, 8), floats(2, 2)]


@example
def matrix_factorization() -> Example:
    def forward(net: Any, F: Any, user: Any, item: Any) -> Any:
        near = F.sum(net.users(user) * net.items(item), axis=1)
        return near + net.bias(user).reshape((-1,))

    return Net(
        forward, users=nn.Embedding(9, 4), items=nn.Embedding(7, 4), bias=nn.Embedding(9, 1)
    ), [whole(9, 2), whole(7, 2)]


@example
def factorization_machine() -> Example:
    def forward(net: Any, F: Any, x: Any, pairs: Any) -> Any:
        both = F.square(F.dot(x, pairs)) - F.dot(F.square(x), F.square(pairs))
        return net.line(x) + 0.5 * F.sum(both, axis=1, keepdims=True)

    net = Net(forward, line=nn.Dense(1))
    net.pairs = net.params.get("pairs", shape=(8, 3))
    return net, [floats(2, 8)]


@example
def two_towers() -> Example:
    def forward(net: Any, F: Any, user: Any, item: Any) -> Any:
        left = F.L2Normalization(net.user(user))
        right = F.L2Normalization(net.item(item))
        return F.dot(left, right, transpose_b=True)

    return Net(
        forward,
        user=chain(nn.Embedding(9, 5), nn.Dense(4)),
        item=chain(nn.Dense(6, activation="relu"), nn.Dense(4)),
    ), [whole(9, 2), floats(2, 5)]


@example
def wide_and_deep() -> Example:
    def forward(net: Any, F: Any, x: Any, kinds: Any) -> Any:
        results = [part(F.slice_axis(kinds, axis=1, begin=i, end=i + 1)).flatten()
                 for i, part in enumerate(net.kinds)]  # fmt: skip
        return net.wide(x) + net.deep(F.concat(x, *results, dim=1))

    return Net(
        forward,
        kinds=chain(nn.Embedding(5, 2), nn.Embedding(5, 3)),
        wide=nn.Dense(2),
        deep=chain(nn.Dense(6, activation="relu"), nn.Dense(2)),
    ), [floats(2, 4), whole(5, 2, 2)]


@example
def three_of_a_kind() -> Example:
    def forward(net: Any, F: Any, *three: Any) -> Any:
        a, b, c = (net.body(each) for each in three)
        return net.loss(a, b, c), F.sqrt(F.sum(F.square(a - b), axis=1))

    return Net(
        forward, body=chain(conv(3, activation="relu"), nn.Dense(4)), loss=gluon.loss.TripletLoss()
    ), [floats(2, 1, 5, 5) for _ in range(3)]


@example
def mixture_of_densities() -> Example:
    def forward(net: Any, F: Any, x: Any, y: Any) -> Any:
        weights, mean, log_scale = F.split(net.body(x), num_outputs=3, axis=1)
        away = F.broadcast_sub(y, mean) / F.exp(log_scale)
        parts = F.log_softmax(weights) - log_scale - 0.5 * F.square(away)
        top = F.max(parts, axis=1, keepdims=True)
        return F.log(F.sum(F.exp(F.broadcast_sub(parts, top)), axis=1)) + top.reshape((-1,))

    return Net(forward, body=chain(nn.Dense(6, activation="tanh"), nn.Dense(9))), [
        floats(2, 3),
        floats(2, 1),
    ]


@example
def value_and_advantage() -> Example:
    def forward(net: Any, F: Any, x: Any, allowed: Any) -> Any:
        x = net.body(x)
        gains = net.gains(x)
        gains = F.broadcast_add(
            net.value(x), F.broadcast_sub(gains, F.mean(gains, axis=1, keepdims=True))
        )
        chances = F.softmax(F.where(allowed, gains, F.ones_like(gains) * -1e9))
        return chances, F.argmax(gains, axis=1), F.sum(chances * F.log(chances + 1e-6), axis=1)

    return Net(
        forward, body=nn.Dense(6, activation="relu"), value=nn.Dense(1), gains=nn.Dense(4)
    ), [floats(2, 5), np.array([[1, 0, 1, 1], [1, 1, 0, 1]], "float32")]


@example
def pushed_against_the_gradient() -> Example:
    def forward(net: Any, F: Any, x: Any, gradient: Any) -> Any:
        return net.body(F.clip(x + 0.1 * F.sign(gradient), -1, 1))

    return Net(forward, body=chain(nn.Dense(6), nn.PReLU(), nn.Dense(3))), [
        floats(2, 5),
        floats(2, 5),
    ]


@example
def kernel_of_a_process() -> Example:
    def forward(net: Any, F: Any, x: Any, points: Any, weights: Any) -> Any:
        away = F.broadcast_sub(F.expand_dims(x, 1), F.expand_dims(points, 0))  # fmt: skip
        return F.dot(F.exp(-0.5 * F.sum(F.square(away), axis=2)), weights)

    net = Net(forward)
    net.points = net.params.get("points", shape=(4, 3))
    net.weights = net.params.get("weights", shape=(4,))
    return net, [floats(2, 3)]
