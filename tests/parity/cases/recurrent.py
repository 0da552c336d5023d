"""Recurrent networks and the model zoo: cases that run in MXNet and in mixnet.

Everything here takes the library as ``mx`` and gives plain data, so that it runs under both.
"""

import hashlib
import json

import numpy as np

# Code of a block (rnn, crnn: gluon's and gluon.contrib's), shape of the data, arguments of unroll.
CELLS = [
    ("rnn.RNNCell(3,input_size=4)", (2, 3, 4), {"merge_outputs": True}),
    ("rnn.RNNCell(3,'relu',input_size=4)", (2, 3, 4), {}),
    ("rnn.LSTMCell(3,input_size=4)", (2, 3, 4), {"merge_outputs": True}),
    (
        "rnn.LSTMCell(3,activation='relu',recurrent_activation='softsign',input_size=4)",
        (2, 3, 4),
        {"layout": "TNC", "merge_outputs": True},
    ),
    ("rnn.GRUCell(3,input_size=4)", (2, 3, 4), {"valid_length": [2, 1], "merge_outputs": True}),
    ("rnn.ResidualCell(rnn.GRUCell(4,input_size=4))", (2, 3, 4), {"valid_length": [3, 1]}),
    ("rnn.ZoneoutCell(rnn.RNNCell(4,input_size=4),.5,.5)", (2, 3, 4), {}),
    (
        "rnn.BidirectionalCell(rnn.LSTMCell(3,input_size=4),rnn.GRUCell(3,input_size=4))",
        (2, 3, 4),
        {"valid_length": [2, 1], "merge_outputs": True},
    ),
    ("stack(rnn.LSTMCell(4),rnn.DropoutCell(.5),rnn.RNNCell(3))", (2, 3, 4), {}),
    ("crnn.LSTMPCell(5,3,input_size=4)", (2, 3, 4), {"merge_outputs": True}),
    ("crnn.VariationalDropoutCell(rnn.LSTMCell(3),.3,.3,.3)", (2, 3, 4), {}),
    ("crnn.Conv1DRNNCell((2,6),3,3,3,i2h_pad=1)", (2, 2, 2, 6), {"merge_outputs": True}),
    ("crnn.Conv2DLSTMCell((2,5,5),2,3,3,activation='relu')", (2, 2, 2, 5, 5), {}),
    ("crnn.Conv3DGRUCell((1,4,4,4),2,3,(1,3,3),h2h_dilate=2)", (1, 2, 1, 4, 4, 4), {}),
]

# Those whose numbers are compared. Of the others the graph says it all: operators have their tests.
COUNTED = (
    "rnn.LSTMCell(3,input_size=4)",
    "rnn.GRUCell(3,input_size=4)",
    "rnn.BidirectionalCell(rnn.LSTMCell(3,input_size=4),rnn.GRUCell(3,input_size=4))",
    "crnn.Conv1DRNNCell((2,6),3,3,3,i2h_pad=1)",
    "rnn.LSTM(3,2,bidirectional=True,input_size=4)",
    "rnn.GRU(3,layout='NTC',bidirectional=True,input_size=4)",
    "GRUCell(3)",
    "FusedRNNCell(3,2,'lstm',True,get_next_state=True)",
    "FusedRNNCell(3,2,'lstm',True).unfuse()",
)

LAYERS = [
    ("rnn.RNN(3,activation='tanh')", (3, 2, 4)),
    ("rnn.RNN(3,2,layout='NTC')", (2, 3, 4)),
    ("rnn.LSTM(3,2,bidirectional=True,input_size=4)", (3, 2, 4)),
    ("rnn.GRU(3,layout='NTC',bidirectional=True,input_size=4)", (2, 3, 4)),
]

# The last is written out for the real operator, which has no gradient of a projection on CPU.
PREDICTING = [("rnn.LSTM(4,projection_size=2,input_size=4)", (3, 2, 4))]

TEXTS = [
    *[code for code, _, _ in CELLS],
    *[code for code, _ in LAYERS],
    "rnn.RNNCell(5)",
    "rnn.LSTMCell(5,prefix='foo_')",
    "rnn.GRUCell(5,'ones','zeros',input_size=2)",
    "rnn.DropoutCell(.5,axes=(1,))",
    "rnn.ModifierCell(rnn.GRUCell(5))",
    "rnn.ZoneoutCell(rnn.LSTMCell(5),.1,.2)",
    "rnn.SequentialRNNCell()",
    "rnn.RecurrentCell()",
    "rnn.LSTM(5,2,'NTC',.5,True,3)",
    "rnn.LSTM(5,projection_size=3,state_clip_min=-1,state_clip_max=1)",
    "crnn.Conv2DRNNCell((6,6,3),4,3,(3,3),conv_layout='NHWC')",
]

# Cells of symbols.
SYMBOLS = [
    ("RNNCell(3)", (2, 3, 4), {}),
    ("LSTMCell(3,forget_bias=2.)", (2, 3, 4), {"merge_outputs": True}),
    ("GRUCell(3)", (3, 2, 4), {"layout": "TNC", "merge_outputs": True}),
    ("ResidualCell(GRUCell(4))", (2, 3, 4), {"merge_outputs": True}),
    ("ZoneoutCell(RNNCell(4),.5,.5)", (2, 3, 4), {}),
    ("BidirectionalCell(LSTMCell(3,prefix='l_'),GRUCell(3,prefix='r_'))", (2, 3, 4), {}),
    ("FusedRNNCell(3,2,'lstm',True,get_next_state=True)", (2, 3, 4), {}),
    ("FusedRNNCell(3,2,'lstm',True).unfuse()", (2, 3, 4), {"merge_outputs": True}),
    ("FusedRNNCell(3,mode='gru',prefix='f_')", (3, 2, 4), {"layout": "TNC"}),
    ("ConvRNNCell((1,2,5,5),2)", (2, 2, 2, 5, 5), {}),
    ("ConvLSTMCell((1,2,5,5),2,activation='tanh')", (2, 2, 2, 5, 5), {}),
    ("ConvGRUCell((1,2,5,5),2)", None, {}),
]

NETS = [
    *["alexnet", "densenet121", "densenet161", "densenet169", "densenet201", "inceptionv3"],
    *[f"mobilenet{width}" for width in ("0.25", "0.5", "0.75", "1.0")],
    *[f"mobilenetv2_{width}" for width in ("0.25", "0.5", "0.75", "1.0")],
    *[f"resnet{count}_v{v}" for v in (1, 2) for count in (18, 34, 50, 101, 152)],
    *["squeezenet1.0", "squeezenet1.1"],
    *[f"vgg{count}{norm}" for norm in ("", "_bn") for count in (11, 13, 16, 19)],
]


def make(mx, code):
    """A block from its code, its names counted from 0."""
    crnn, rnn = mx.gluon.contrib.rnn, mx.gluon.rnn

    def stack(*cells):
        cell_stack = rnn.HybridSequentialRNNCell()
        for cell in cells:
            cell_stack.add(cell)
        return cell_stack

    with mx.name.NameManager():
        return eval(code, {"rnn": rnn, "crnn": crnn, "stack": stack})


def flat(nested):
    """Arrays or symbols of nested lists."""
    if not isinstance(nested, (list, tuple)):
        return [nested]
    return [each for part in nested for each in flat(part)]


def data(shape):
    """Numbers without a pattern that the network would share."""
    return np.cos(np.arange(np.prod(shape)) * 0.37).reshape(shape).astype("float32")


def fill(mx, params, scale=0.4):
    """Give parameters values by a formula."""
    for i, (_, each) in enumerate(sorted(params.items())):
        count = int(np.prod(each.shape))
        each.set_data(mx.nd.array(np.sin(np.arange(count) * 0.7 + i).reshape(each.shape) * scale))


def text(mx, code):
    """What a block tells of itself."""
    block = make(mx, code)
    result = {
        "repr": repr(block),
        "prefix": block.prefix,
        "params": {name: list(each.shape) for name, each in block.collect_params().items()},
        "structure": list(block._collect_params_with_prefix()),
    }
    try:
        result["states"] = [[list(s["shape"]), s["__layout__"]] for s in block.state_info(2)]
    except NotImplementedError:
        result["states"] = None
    return result


def numbers(mx, block, shape, call, train=True):
    """Outputs and gradients of a block: of the data, then of the parameters by name."""
    block.initialize()
    x = mx.nd.array(data(shape))
    fill(mx, block.collect_params())
    if not train:
        return [each.asnumpy() for each in flat(call(block, x))]
    x.attach_grad()
    with mx.autograd.record(train_mode=False):
        outputs = flat(call(block, x))
        total = sum((each * each).sum() for each in outputs)
    total.backward()
    params = sorted(block.collect_params().items())
    return [a.asnumpy() for a in (*outputs, x.grad, *[each.grad() for _, each in params])]


def unrolled(mx, kwargs, length=None):
    """A function that unrolls a cell over the data."""
    kwargs = dict(kwargs)
    if "valid_length" in kwargs:
        kwargs["valid_length"] = mx.nd.array(kwargs["valid_length"])
    time = kwargs.get("layout", "NTC").find("T")
    return lambda cell, x: cell.unroll(x.shape[time], x, **kwargs)


def with_states(mx):
    """A function that runs a layer from states that are not zero."""

    def call(layer, x):
        batch = x.shape[layer._layout.find("N")]
        states = [mx.nd.array(data(info["shape"])) for info in layer.state_info(batch)]
        return layer(x, states)

    return call


def graph(symbol):
    """The nodes of a symbol as lines: operator, name, attributes, inputs."""
    nodes = json.loads(symbol.tojson())["nodes"]
    lines = []
    for node in nodes:
        inputs = [f"{nodes[i]['name']}:{k}" for i, k, *_ in node["inputs"]]
        options = node.get("attrs", {}) if node["op"] != "null" else {}
        options = {key: value for key, value in options.items() if value != "None"}
        lines.append(f"{node['op']} {node['name']} {json.dumps(options, sort_keys=True)} {inputs}")
    return [*lines, str(symbol.list_outputs())]


def cell_graph(mx, code, kwargs):
    """Nodes of a gluon cell that is unrolled over symbols."""
    kwargs = dict(kwargs)
    cell = make(mx, code)
    if "valid_length" in kwargs:
        kwargs["valid_length"] = mx.sym.Variable("length")
    with mx.name.NameManager():
        outputs = cell.unroll(2, mx.sym.Variable("data"), **kwargs)
        return graph(mx.sym.Group(flat(list(outputs))))


def layer_graph(mx, code):
    """Nodes of a gluon layer on a symbol."""
    layer = make(mx, code)
    with mx.name.NameManager():
        return graph(layer(mx.sym.Variable("data")))


def symbolic(mx, code, shape, kwargs):
    """Nodes, argument shapes, outputs and gradients of an unrolled cell of symbols."""
    with mx.name.NameManager():
        cell = eval(code, dict(vars(mx.rnn)))
        if shape is None:
            states = [mx.sym.Variable(f"state{i}") for i in range(len(cell.state_info))]
            return graph(mx.sym.Group(flat(list(cell(mx.sym.Variable("data"), states))))), []
        length = shape[kwargs.get("layout", "NTC").find("T")]
        outputs, states = cell.unroll(length, mx.sym.Variable("data"), **kwargs)
        whole = mx.sym.Group(flat([outputs, states]))
    lines = graph(whole)
    if code not in COUNTED:
        return lines, []
    head = outputs if not isinstance(outputs, list) else mx.sym.Group(outputs)
    executor = head.simple_bind(mx.cpu(), data=shape)
    for i, (_, each) in enumerate(sorted(executor.arg_dict.items())):
        each[:] = np.sin(np.arange(each.size) * 0.7 + i).reshape(each.shape) * 0.4
    result = executor.forward(is_train=True)
    executor.backward([mx.nd.ones(each.shape) for each in result])
    grads = [each for _, each in sorted(executor.grad_dict.items())]
    return lines, [each.asnumpy() for each in (*result, *grads)]


def _hash(lines):
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def net(mx, name):
    """Hashes of what a network of the zoo is: its text, its graph, its parameters."""
    with mx.name.NameManager():
        model = mx.gluon.model_zoo.vision.get_model(name)
        symbol = model(mx.sym.Variable("data"))
    size = 299 if name == "inceptionv3" else 224
    arguments, outputs, states = symbol.infer_shape(data=(1, 3, size, size))
    shapes = dict(zip(symbol.list_arguments(), arguments, strict=False))
    shapes.update(zip(symbol.list_auxiliary_states(), states, strict=False))
    params = model.collect_params()
    values = sum(int(np.prod(shapes[each])) for each in params)
    starts = [
        each.init if each.init is None or isinstance(each.init, str) else each.init.dumps()
        for each in params.values()
    ]
    return {
        "parameters": len(params.keys()),
        "values": values,
        "output": [list(each) for each in outputs],
        "repr": _hash([repr(model)]),
        "graph": _hash(graph(symbol)),
        "names": _hash([f"{each} {tuple(shapes[each])}" for each in params]),
        "starts": _hash([str(each) for each in starts]),
        "structure": _hash(list(model._collect_params_with_prefix())),
    }


def small_net(mx):
    """A small network of the zoo, whose file of parameters is among the fixtures."""
    vision = mx.gluon.model_zoo.vision
    return vision.ResNetV2(
        vision.BottleneckV2, [1, 2], [4, 8, 16], classes=3, thumbnail=True, prefix="tiny_"
    )


def forward(mx, name, shape):
    """A network of the zoo with parameters by a formula: its scores."""
    net = mx.gluon.model_zoo.vision.get_model(name, classes=5)
    net.initialize()
    net.hybridize()
    x = mx.nd.array(data(shape))
    net.infer_shape(x)
    fill(mx, net.collect_params(), 0.2)
    for key, each in net.collect_params().items():
        if key.endswith("running_var"):
            each.set_data(mx.nd.ones(each.shape))
    return net(x).asnumpy()
