"""Functions that are handed over: bodies of loops, hooks, transforms; and what else is given to
be used later.
"""

from mixnet.base import (
    AttributeKindError,
    AttributeTypeError,
    AttributeValueError,
    CheckError,
    DTypeError,
    IndexingError,
    NotAnArrayError,
    ShapeError,
)
from tests.mistakes.mistake import mistake

_SYMBOLS = "a, b = sym.var('a'), sym.var('b')\n"

MISTAKES = [
    # ---- loops and branches of arrays
    mistake(
        "nd.contrib.foreach(lambda a, b: a, x, x)",
        AttributeTypeError,
        "body returned a NDArray",
        "return (outputs, new states)",
    ),
    mistake(
        "nd.contrib.foreach(lambda a, b: None, x, x)",
        AttributeTypeError,
        "body returned nothing",
        "return (outputs, new states)",
    ),
    mistake(
        "nd.contrib.foreach(lambda a, b: (a, b, b), x, x)",
        AttributeTypeError,
        "body returned 3 things",
        "return (outputs, new states)",
    ),
    mistake(
        "nd.contrib.foreach(3, x, x)",
        AttributeTypeError,
        "not 3",
        "body",
        "def body(slice, states)",
    ),
    mistake(
        "nd.contrib.foreach(lambda a, b: (a, b), 3, x)",
        AttributeTypeError,
        "foreach: data",
        "not 3",
        "mx.nd.array",
    ),
    mistake(
        "nd.contrib.foreach(lambda a, b: (a, b), x, [3])",
        AttributeTypeError,
        "foreach: init_states",
        "not 3",
        "mx.nd.array",
    ),
    mistake(
        "nd.contrib.foreach(lambda a, b: ('a', b), x, x)",
        AttributeTypeError,
        "'a'",
        "an output of body",
        "an array",
    ),
    mistake(
        _SYMBOLS + "sym.contrib.foreach(lambda a, b: a, a, b)",
        AttributeTypeError,
        "body returned a Symbol",
        "return (outputs, new states)",
    ),
    mistake(
        _SYMBOLS + "sym.contrib.foreach(lambda a, b: (a, b), x, b)",
        AttributeTypeError,
        "a NDArray",
        "foreach: data",
        "mx.sym.var",
    ),
    mistake(
        "nd.contrib.while_loop(lambda a: a, lambda a: (a, a), x, 3)",
        ShapeError,
        "(2, 3)",
        "what cond returns",
        "one number",
    ),
    mistake(
        "nd.contrib.while_loop(lambda a: a.sum() < 9, lambda a: a, x, 3)",
        AttributeTypeError,
        "func returned a NDArray",
        "return (step output, new loop variables)",
    ),
    mistake(
        "nd.contrib.while_loop(3, lambda a: (a, a), x, 3)",
        AttributeTypeError,
        "not 3",
        "cond must be a function",
    ),
    mistake(
        "nd.contrib.while_loop(lambda a: a.sum() < 9, lambda a: (a, a), x, 'a')",
        AttributeTypeError,
        "'a'",
        "max_iterations must be a whole number",
    ),
    mistake(
        "nd.contrib.while_loop(lambda a: a.sum() < 9, lambda a: (a, a), x, 0)",
        AttributeValueError,
        "max_iterations is 0",
        "at least 1",
    ),
    mistake(
        _SYMBOLS + "sym.contrib.while_loop(lambda a: a, lambda a: a, a, 3)",
        AttributeTypeError,
        "func returned a Symbol",
        "return (step output, new loop variables)",
    ),
    mistake("nd.contrib.cond(x, lambda: x, lambda: x)", ShapeError, "(2, 3)", "pred", "one number"),
    mistake("nd.contrib.cond(x.sum(), x, x)", AttributeTypeError, "then_func", "a function"),
    mistake(
        "sym.contrib.cond(3, lambda: sym.var('a'), lambda: sym.var('b'))",
        AttributeTypeError,
        "not int",
        "cond: pred",
        "mx.sym.var",
    ),
    # ---- hooks
    mistake(
        "dense().register_forward_hook(3)",
        AttributeTypeError,
        "not 3",
        "hook(block, inputs, output)",
    ),
    mistake(
        "dense().register_forward_pre_hook('a')", AttributeTypeError, "'a'", "hook(block, inputs)"
    ),
    mistake(
        "dense().register_op_hook(3)", AttributeTypeError, "not 3", "hook(name, operator, array)"
    ),
    mistake("dense().apply(3)", AttributeTypeError, "not 3", "def change(block)"),
    # ---- transforms
    mistake(
        "transforms.RandomBrightness('a')", AttributeKindError, "brightness='a'", "not a number"
    ),
    mistake("transforms.RandomSaturation(-1)", AttributeValueError, "saturation=-1", "0 or more"),
    mistake("transforms.RandomColorJitter(hue='a')", AttributeKindError, "hue='a'", "not a number"),
    mistake("transforms.RandomLighting(None)", AttributeKindError, "alpha=None", "not a number"),
    mistake("transforms.RandomGray(p=50)", AttributeValueError, "p=50", "from 0 to 1"),
    mistake("transforms.RandomApply(3)", AttributeTypeError, "not 3", "a function"),
    mistake("transforms.Resize('a')", AttributeValueError, "'a'", "Resize", "(width, height)"),
    mistake(
        "transforms.CenterCrop((3, 4, 5))", AttributeValueError, "(3, 4, 5)", "(width, height)"
    ),
    mistake("transforms.RandomResizedCrop(0)", AttributeValueError, "not 0", "(width, height)"),
    mistake("transforms.Normalize('a', 1.0)", AttributeValueError, "'a'", "mean", "each channel"),
    mistake("transforms.Normalize(0.5, [None])", AttributeValueError, "std", "each channel"),
    mistake("transforms.Cast('floot')", DTypeError, "'floot'", "float32"),
    # ---- for later
    mistake("gluon.utils.download('not a url')", AttributeValueError, "'not a url'", "https://"),
    mistake("gluon.utils.download(3)", AttributeValueError, "download: 3", "https://"),
    mistake("SimpleDataset(3)", AttributeTypeError, "not 3", "a list"),
    mistake("ArrayDataset(nd.ones(3), nd.ones(3))[7]", IndexingError, "sample 7", "dataset of 3"),
    mistake(
        "DataLoader(SimpleDataset([1, 2]), batch_size=2, num_workers='x')",
        AttributeTypeError,
        "'x'",
        "num_workers must be a number",
    ),
    mistake(
        "recordio.pack((0, 1), b'x')",
        AttributeTypeError,
        "(0, 1)",
        "IRHeader(flag, label, id, id2)",
    ),
    mistake(
        "net = dense()\nnet.hybridize()\nnet(x)\nnet.export('net', 'a')",
        AttributeTypeError,
        "'a'",
        "epoch must be a number",
    ),
    mistake(
        "begun().save_checkpoint('x', 'a')", AttributeTypeError, "'a'", "epoch must be a number"
    ),
    mistake(
        "mx.callback.do_checkpoint('x', 'a')", AttributeTypeError, "'a'", "period must be a number"
    ),
    mistake(
        "mx.callback.Speedometer('a')", AttributeTypeError, "'a'", "batch_size must be a number"
    ),
    mistake("kv.create('local').init('a', 3)", CheckError, "not int", "mx.nd.array"),
    mistake("trainer().set_learning_rate('fast')", AttributeTypeError, "'fast'", "a number"),
    mistake("trainer(params={'learning_rate': 'fast'})", AttributeTypeError, "'fast'", "a number"),
    mistake(
        "optimizer.create('sgd').update(0, x, [1.0, 2.0], None)",
        NotAnArrayError,
        "[1.0, 2.0]",
        "grad",
        "mx.nd.array",
    ),
    mistake(
        "optimizer.create('adagrad').update(0, x, numpy.ones((2, 3)), x)",
        NotAnArrayError,
        "grad must be",
        "mx.nd.array",
    ),
    mistake(
        "optimizer.create('adam').update(0, x, x, None)",
        AttributeTypeError,
        "state is None",
        "create_state(index, weight)",
    ),
]
