"""Views of concept pages that are not in the gallery: each shows the idea of its page."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.gluon import nn
from mixnet.widgets import (
    ArrayView,
    EngineTimeline,
    GraphView,
    HybridizeStepper,
    Look,
    TrainingBoard,
    View,
)


def _perceptron(hybridize: bool = True) -> nn.HybridSequential:
    with mx.name.NameManager():
        net = nn.HybridSequential(prefix="net_")
        with net.name_scope():
            net.add(nn.Dense(32, activation="relu", in_units=64), nn.Dense(10, in_units=32))
    net.initialize(mx.init.Xavier())
    if hybridize:
        net.hybridize()
    return net


def _step(net: Any, trainer: gluon.Trainer, x: nd.NDArray, y: nd.NDArray) -> nd.NDArray:
    with autograd.record():
        loss = gluon.loss.SoftmaxCrossEntropyLoss()(net(x), y)
    loss.backward()
    trainer.step(x.shape[0])
    return loss


def _symbol() -> mx.sym.Symbol:
    x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=32, name="hidden")
    x = mx.sym.FullyConnected(
        mx.sym.Activation(x, "relu", name="bend"), num_hidden=10, name="scores"
    )
    return mx.sym.SoftmaxOutput(x, name="softmax")


def exchange() -> View:
    """Gradients of two keys from four devices: sums as tasks, the one with the larger priority first."""
    contexts = [mx.cpu(i) for i in range(4)]
    store = mx.kv.create("device")
    shapes = {"first": (512, 512), "last": (512, 10)}
    gradients = {}
    for key, shape in shapes.items():
        store.init(key, nd.zeros(shape))
        gradients[key] = [nd.full(shape, i, context) for i, context in enumerate(contexts)]
    results = {key: [nd.empty(shape, each) for each in contexts] for key, shape in shapes.items()}

    def work() -> None:
        for priority, key in enumerate(reversed(shapes)):
            store.push(key, gradients[key], priority=priority)
            store.pull(key, out=results[key], priority=priority)
        nd.waitall()

    work()  # what is compiled first would fill the picture
    with EngineTimeline() as view:
        work()
    return view


def records() -> View:
    """A record file of small images, decoded by I/O tasks while a network computes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.rec"
        writer = mx.recordio.MXRecordIO(str(path), "w")
        pixels = np.random.default_rng(1).integers(0, 255, (96, 40, 40, 3), np.uint8)
        for i, each in enumerate(pixels):
            header = mx.recordio.IRHeader(0, float(i % 10), i, 0)
            writer.write(mx.recordio.pack_img(header, each, quality=90))
        writer.close()
        train = mx.io.ImageRecordIter(
            path_imgrec=str(path),
            data_shape=(3, 32, 32),
            batch_size=16,
            rand_mirror=True,
            preprocess_threads=2,
        )
        net = nn.Dense(10, in_units=3 * 32 * 32)
        net.initialize()
        net.hybridize()
        for batch in train:
            net(batch.data[0]).wait_to_read()
        train.reset()
        with EngineTimeline() as view:
            for batch in train:
                net(batch.data[0]).wait_to_read()
    return view


def unrolled() -> View:
    """A cell of symbols over three steps."""
    with mx.name.NameManager():
        cell = mx.rnn.LSTMCell(8, prefix="lstm_")
        outputs, _ = cell.unroll(3, mx.sym.var("data"), layout="NTC", merge_outputs=True)
    return GraphView(outputs, data=(2, 3, 5), title="three steps of an LSTM cell")


def recurrent() -> View:
    """A layer is one operator over the sequence."""
    net = gluon.rnn.LSTM(8, num_layers=2, input_size=5, prefix="lstm_")
    net.initialize()
    return GraphView(net, nd.ones((3, 2, 5)), train=True)


def update_rule() -> View:
    """The rule of Adam for one weight: from one operation to the pieces that run."""

    def update(
        weight: nd.NDArray, grad: nd.NDArray, mean: nd.NDArray, var: nd.NDArray
    ) -> nd.NDArray:
        return nd.adam_update(weight, grad, mean, var, lr=1e-3)

    return HybridizeStepper(update, *[nd.ones((32, 64)) for _ in range(4)])


def profiled() -> View:
    """Three steps of training: the rows that the profiler counts."""
    net = _perceptron()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    x, y = nd.ones((32, 64)), nd.zeros((32,))
    for _ in range(3):
        _step(net, trainer, x, y)
    nd.waitall()
    with tempfile.TemporaryDirectory() as folder:  # the trace is written when the profile ends
        mx.profiler.set_config(
            profile_symbolic=False,
            profile_imperative=False,
            filename=str(Path(folder) / "profile.json"),
        )
        mx.profiler.set_state("run")
        with EngineTimeline() as view:
            for _ in range(3):
                _step(net, trainer, x, y)
        mx.profiler.set_state("stop")
        mx.profiler.dump()
    return view


def onnx_file() -> View:
    """A network after export and import: the file as it was read."""
    net = _perceptron()
    net(nd.ones((2, 64)))
    with tempfile.TemporaryDirectory() as folder:
        net.export(str(Path(folder) / "net"), format="onnx")
        [path] = Path(folder).glob("*.onnx")
        return Look(str(path), nd.ones((2, 64)), title="net.onnx")


def drawn() -> View:
    """The symbol of the page with its gradient graph."""
    x = mx.sym.var("data")
    net = mx.sym.Activation(
        mx.sym.FullyConnected(x, num_hidden=4, name="fc"), act_type="relu", name="bend"
    )
    return GraphView(net, data=(2, 3), train=True)


def in_8_bits() -> View:
    """A network before and after quantization."""
    from mixnet.contrib import quantization

    net = _perceptron(hybridize=False)
    examples = gluon.data.DataLoader(
        gluon.data.ArrayDataset(nd.random.uniform(shape=(32, 64)).asnumpy()), 8
    )
    small = quantization.quantize_net_v2(
        net, calib_mode="naive", calib_data=examples, quantize_mode="smart"
    )
    x = nd.ones((8, 64))
    return GraphView.diff(GraphView(net, x), GraphView(small, x), title="float32 → int8")


def stablehlo() -> View:
    """The stage that export writes to a file."""
    view = HybridizeStepper(_perceptron(), nd.ones((2, 64)))
    stages = [each["title"] for each in view.payload["programs"][view.state["program"]]["stages"]]
    view.choose(stage=next(i for i, title in enumerate(stages) if "HLO" in title))
    return view


def pixels() -> View:
    """The red, green and blue of a picture that a chain of augmenters made."""
    rows, columns = np.mgrid[0:40, 0:60]
    picture = np.stack([255 * ((rows // 8 + columns // 8) % 2), 4 * columns, 6 * rows], 2)
    small = mx.image.resize_short(nd.array(picture.astype("uint8"), dtype="uint8"), 32)
    for augmenter in mx.image.CreateAugmenter((3, 24, 24), rand_mirror=True):
        small = augmenter(small)
    small = small.transpose((2, 0, 1))
    small.wait_to_read()
    return ArrayView(small)


def initial_weights() -> View:
    """The weight of a layer as Xavier filled it."""
    net = nn.Dense(16, in_units=24)
    net.initialize(mx.init.Xavier())
    weight = net.weight.data()
    weight.wait_to_read()
    return ArrayView(weight)


def metric() -> View:
    """Four batches of an accuracy, and the read of its sums."""
    found = mx.metric.Accuracy()
    label = nd.floor(nd.random.uniform(shape=(4096,)) * 10)
    scores = nd.random.uniform(shape=(4096, 10))
    found.update([label], [scores])
    found.get()
    with EngineTimeline() as view:
        for _ in range(4):
            found.update([label], [nd.softmax(scores)])
        found.get()
    return view


def _arguments(symbol: mx.sym.Symbol) -> dict[str, nd.NDArray]:
    """Small random arrays for all arguments of :func:`_symbol`."""
    shapes, _, _ = symbol.infer_shape(data=(32, 64))
    return {
        name: nd.random.normal(scale=0.1, shape=shape)
        for name, shape in zip(symbol.list_arguments(), shapes, strict=True)
    }


def trained_symbol() -> View:
    """What a module binds: the symbol with its loss head, gradients and memory."""
    symbol = _symbol()
    return Look(symbol, train=True, title="module", **_arguments(symbol))


def old_manager() -> View:
    """A batch of training on two devices with MXNet's first manager of executors."""
    symbol, devices = _symbol(), [mx.cpu(0), mx.cpu(1)]
    batches = mx.io.NDArrayIter(
        nd.random.normal(shape=(256, 64)), nd.zeros(256), 256, label_name="softmax_label"
    )
    names = symbol.list_arguments()
    weights = [name for name in names if name not in ("data", "softmax_label")]
    manager = mx.executor_manager.DataParallelExecutorManager(
        symbol, devices, batches, names, weights, symbol.list_auxiliary_states()
    )
    (batch,) = batches
    manager.load_data_batch(batch)
    manager.forward(is_train=True)
    manager.backward()
    nd.waitall()
    with EngineTimeline() as view:
        manager.load_data_batch(batch)
        manager.forward(is_train=True)
        manager.backward()
        nd.waitall()
    return view


def checkpoint() -> View:
    """A symbol as it is read from the file of a checkpoint."""
    symbol = _symbol()
    weights = _arguments(symbol)
    del weights["data"], weights["softmax_label"]
    with tempfile.TemporaryDirectory() as folder:
        prefix = str(Path(folder) / "net")
        mx.model.save_checkpoint(prefix, 3, symbol, weights, {})
        loaded, _, _ = mx.model.load_checkpoint(prefix, 3)
    return GraphView(loaded, data=(32, 64), title="net-symbol.json")


def random_numbers() -> View:
    """Normal numbers from seed 5, which are those that MXNet draws."""
    mx.random.seed(5)
    drawn = mx.nd.random.normal(shape=(8, 12))
    drawn.wait_to_read()
    return ArrayView(drawn)


def numpy_pending() -> View:
    """An expression in the interface of NumPy: it is recorded as operations like any other."""
    x = mx.np.array([[1.0, 2.0], [3.0, 4.0]])
    x.wait_to_read()
    centred = x - mx.np.mean(x, axis=0)
    return GraphView(mx.np.sqrt(mx.np.mean(centred * centred, axis=0)), title="mx.np")


def layer_of_npx() -> View:
    """A layer of ``mx.npx`` between functions of ``mx.np``."""
    x, weight = mx.np.ones((4, 3)), mx.np.ones((2, 3))
    mx.nd.waitall()
    hidden = mx.npx.relu(mx.npx.fully_connected(x, weight, no_bias=True, num_hidden=2))
    return GraphView(mx.npx.softmax(hidden), title="mx.npx")


def first_runs() -> View:
    """The same line many times, then a large product: interpreted first, compiled later."""
    x = nd.random.uniform(shape=(400, 400))
    x.wait_to_read()
    with EngineTimeline(most=400) as view:
        for _ in range(40):
            (nd.dot(x, x) * 2 + 1).wait_to_read()
    return view


def fitted() -> View:
    """The curves of a module's training, sent by callbacks."""
    x = nd.random.uniform(shape=(256, 64))
    label = nd.floor(x[:, 0] * 10)
    view = TrainingBoard("Module.fit")
    module = mx.mod.Module(_symbol())

    def note(found: Any) -> None:
        view.log(**dict(found.eval_metric.get_name_value()))

    module.fit(
        mx.io.NDArrayIter(x, label, 32),
        num_epoch=6,
        optimizer="adam",
        optimizer_params={"learning_rate": 0.01},
        eval_metric=mx.metric.create(["acc", "ce"]),
        batch_end_callback=note,
    )
    return view


def one_line() -> View:
    """The line of the first walk."""

    def line(a: nd.NDArray) -> nd.NDArray:
        b = a * 2 + 1
        return b

    return HybridizeStepper(line, nd.ones((3,)))


CONCEPTS: tuple[Callable[[], View], ...] = (
    exchange,
    records,
    unrolled,
    recurrent,
    update_rule,
    profiled,
    onnx_file,
    drawn,
    in_8_bits,
    stablehlo,
    pixels,
    initial_weights,
    random_numbers,
    metric,
    trained_symbol,
    old_manager,
    checkpoint,
    numpy_pending,
    layer_of_npx,
    first_runs,
    fitted,
    one_line,
)
"""Views of concept pages, by the names that ``{view}`` takes."""
