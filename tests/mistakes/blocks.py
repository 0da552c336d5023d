"""Blocks, parameters and their files, hybridized networks."""

from mixnet.base import (
    AttributeTypeError,
    AttributeValueError,
    CheckError,
    IndexingError,
    MissingFileError,
    MXNetError,
    NotAnArrayError,
    NotDefinedError,
    ShapeError,
    TraceError,
    UnknownAttributeError,
    UnknownNameError,
)
from mixnet.gluon.parameter import DeferredInitializationError
from tests.mistakes.mistake import mistake


def _hybrid(body: str, define: str = "def hybrid_forward(self, F, x):") -> str:
    """A program that calls a hybridized block with this forward."""
    return (
        f"class N(gluon.HybridBlock):\n    {define}\n        {body}\n"
        f"net = N()\nnet.hybridize()\nnet(x)"
    )


MISTAKES = [
    # ---- calling
    mistake(
        "dense()([1.0, 2.0])", AttributeValueError, "a list of float", "Dense takes", "mx.nd.array"
    ),
    mistake(
        "net = dense()\nnet.hybridize()\nnet([1.0, 2.0])",
        ValueError,
        "a list of float",
        "Dense takes",
    ),
    mistake("dense()([x, x])", (NotAnArrayError, AssertionError), "list", "mx.nd.stack"),
    mistake("dense()(numpy.ones((2, 3)))", ValueError, "a ndarray", "mx.nd.array"),
    mistake("dense()('abc')", ValueError, "a str", "NDArray"),
    mistake("dense()()", AttributeTypeError, "0 inputs", "Dense", "(x"),
    mistake("dense()(x, x)", AttributeTypeError, "2 inputs", "Dense", "(x)"),
    mistake("dense()(y)", ShapeError, "(4, 5)", "weight (2, 3) takes 3"),
    mistake(
        "net = dense()\nnet.hybridize()\nnet(y)", ShapeError, "(4, 5)", "weight (2, 3) takes 3"
    ),
    # not to the dtype of the data, in which the layer cannot compute
    mistake("dense()(x.astype('uint8'))", MXNetError, "uint8 and float32", "astype('float32')"),
    mistake(
        "ready(nn.Conv2D(4, 3))(images.astype('float64'))",
        MXNetError,
        "float64 and float32",
        "astype('float32')",
    ),
    mistake("ready(nn.Conv2D(4, 3))(x)", ShapeError, "(2, 3)", "batch, channels and 2 spatial"),
    mistake(
        "ready(nn.Conv2D(4, 3, in_channels=1))(images)",
        ShapeError,
        "(4, 1, 3, 3)",
        "need (4, 3, 3, 3)",
        "axis 1",
    ),
    mistake("ready(nn.BatchNorm(in_channels=5))(x)", ShapeError, "(5,)", "the shape (3,)"),
    mistake("nn.MaxPool2D(2)(x)", ShapeError, "(2, 3)", "three to five axes"),
    mistake("nn.MaxPool2D(9)(images)", ShapeError, "(9, 9)", "(8, 8)", "smaller kernels"),
    # ---- names of other libraries
    mistake("nn.Conv2d(3, 3)", AttributeError, "'Conv2d'", "'Conv2D'"),
    mistake(
        "loss.CrossEntropyLoss()", AttributeError, "'CrossEntropyLoss'", "'SoftmaxCrossEntropyLoss'"
    ),
    mistake(
        "gluon.model_zoo.vision.resnet18_v3()", AttributeError, "'resnet18_v3'", "'resnet18_v2'"
    ),
    mistake("gluon.rnn.LSTMcell(2)", AttributeError, "'LSTMcell'", "'LSTMCell'"),
    mistake("metric.Acuracy()", AttributeError, "'Acuracy'", "'Accuracy'"),
    mistake("init.Xaver()", AttributeError, "'Xaver'", "'Xavier'"),
    # ---- making
    mistake("nn.Dense(2, prefix=x)", TypeError, "(2, 3)", "net = Dense(); net(x)"),
    mistake(
        "nn.Dense(2, activaton='relu')", AttributeTypeError, "'activaton'", "Dense", "'activation'"
    ),
    mistake("nn.Dense('a')", TypeError, "'a'", "a whole number"),
    mistake("nn.Dense()", TypeError, "'units'"),
    mistake("ready(nn.Dense(2, activation='rleu'))(x)", ValueError, "'rleu'", "'relu'"),
    mistake("nn.Conv2D(4, (3, 3, 3))", AssertionError, "(3, 3, 3)", "one number or 2"),
    mistake("nn.Conv2D(4, 3, padding='same')", AssertionError, "same", "is not a shape"),
    mistake("nn.Conv2D(4, 3, layout='NHCW')", AssertionError, "'NHCW'", "NHWC"),
    mistake("nn.Dropout('a')", TypeError, "'a'", "a number"),
    mistake("nn.HybridLambda(lambda x: x)(x)", AttributeTypeError, "(x)", "called with F"),
    mistake("nn.Lambda('foo')", CheckError, "'foo'", "not an operator"),
    mistake("nn.Sequential().add(3)", AttributeValueError, "3", "blocks", "gluon.Block"),
    mistake("nn.HybridSequential().add(3)", ValueError, "3", "blocks", "gluon.Block"),
    mistake("nn.HybridSequential().add('relu')", ValueError, "'relu'", "HybridLambda"),
    mistake("nn.HybridSequential().add(nn.Dense)", ValueError, "Dense", "Make one: Dense(...)"),
    mistake("nn.Sequential().add([nn.Dense(2), nn.Dense(3)])", ValueError, "list", "add(*blocks)"),
    mistake("gluon.Block().register_child(nd.relu)", ValueError, "relu", "gluon.nn.Lambda"),
    mistake("nn.HybridSequential(nn.Dense(2))", TypeError, "Dense", "net.add(...)"),
    mistake(
        "net = nn.HybridSequential()\nnet.add(nn.Dense(2))\nnet[3]",
        (IndexingError, IndexError),
        "3",
        "1 block",
    ),
    mistake(
        "class N(gluon.HybridBlock):\n"
        "    def __init__(self):\n"
        "        self.dense = nn.Dense(2)\n"
        "N()",
        (UnknownAttributeError, AttributeError),
        "N.dense",
        "super().__init__()",
    ),
    mistake(
        "class N(gluon.Block): pass\nN()(x)",
        (NotDefinedError, NotImplementedError),
        "N",
        "forward(self, x)",
    ),
    mistake(
        "class N(gluon.HybridBlock): pass\nN()(x)",
        NotImplementedError,
        "N",
        "hybrid_forward(self, F, x",
    ),
    # ---- initializing
    mistake("nn.Dense(2)(x)", MXNetError, "_weight'", "net.initialize()"),
    mistake(
        "net = nn.HybridSequential()\nnet.add(nn.Dense(2))\nnet(x)",
        MXNetError,
        "_weight'",
        "net.initialize()",
    ),
    mistake("nn.Dense(2).weight.data()", RuntimeError, "_weight'", "net.initialize()"),
    mistake("ready(nn.Dense(2)).weight.data()", DeferredInitializationError, "(2, 0)", "in_units"),
    mistake(
        "nn.Dense(2, in_units=3).initialize('xaveir')",
        (CheckError, AssertionError),
        "xaveir is not",
        "'xavier'",
    ),
    mistake(
        "ready(nn.Dense(2, weight_initializer='foo'))(x)", AssertionError, "foo is not", "uniform"
    ),
    mistake("nn.Dense(2).initialize(ctx=3)", ValueError, "ctx=3", "mx.cpu()"),
    mistake("nn.Dense(2, in_units=3).initialize(3)", AssertionError, "3", "initializer"),
    # ---- parameters
    mistake("dense().weight.set_data(y)", (CheckError, AssertionError), "(4, 5)", "(2, 3)"),
    mistake("dense().weight.data(mx.cpu(3))", RuntimeError, "cpu(3)", "cpu(0)"),
    mistake("dense().weight.grad_req = 'foo'", AssertionError, "'foo'", "'write'"),
    mistake("dense().collect_params('*weight')", AttributeValueError, "'*weight'", "'.*weight'"),
    mistake("dense().collect_params()['foo']", (UnknownNameError, KeyError), "'foo'", "_weight"),
    mistake("dense().cast('floot')", TypeError, "'floot'", "float32"),
    mistake("gluon.Parameter('w', shape='a')", TypeError, "'a'", "whole numbers"),
    mistake("gluon.Parameter('w').initialize()", ValueError, "'w'", "in_units"),
    mistake(
        "dense().load_parameters('nothing.params')",
        MissingFileError,
        "nothing.params",
        "o such file",
    ),
    mistake(
        "dense().save_parameters('a.params')\nnn.Dense(5, in_units=3).load_parameters('a.params')",
        AssertionError,
        "(2, 3)",
        "(5, 3)",
    ),
    mistake(
        "net = nn.HybridSequential()\nnet.add(dense())\nnet.save_parameters('a.params')\n"
        "net.add(dense())\nnet.load_parameters('a.params')",
        AssertionError,
        "'1.weight'",
        "allow_missing=True",
    ),
    mistake(
        "net = nn.HybridSequential()\nnet.add(dense(), dense())\nnet.save_parameters('a.params')\n"
        "net = nn.HybridSequential()\nnet.add(dense())\nnet.load_parameters('a.params')",
        (AttributeValueError, ValueError),
        "'1.weight'",
        "ignore_extra=True",
    ),
    mistake(
        "dense().collect_params().load('nothing.params', restore_prefix='net_')",
        AssertionError,
        "restore_prefix='net_'",
        "net.name_scope()",
        "net.save_parameters()",
    ),
    mistake("dense().export('a')", RuntimeError, "export", "call it with data first"),
    # ---- hybridized networks
    mistake("net = dense()\nnet.hybridize()\nnet(x, x)", TypeError, "(x)", "2 inputs"),
    mistake("net = dense()\nnet.hybridize()\nnet(x)\nnet(x, x)", ValueError, "(x)", "2 inputs"),
    mistake(
        _hybrid("return x if x.sum() > 0 else -x"), TraceError, "float32[1]", "do not hybridize"
    ),
    mistake(_hybrid("return x + x.asnumpy()"), TraceError, "float32[2, 3]", "asnumpy()"),
    mistake(_hybrid("return float(x.sum())"), TraceError, "float32[1]", "float()"),
    mistake(_hybrid("return F.foo(x)"), AttributeError, "'foo'", "mx.nd"),
    mistake(_hybrid("return F.softmax(x, foo=3)"), TypeError, "'foo'", "softmax(data"),
    mistake(
        _hybrid("return x", "def hybrid_forward(self, x):"),
        AttributeTypeError,
        "N takes no inputs",
        "hybrid_forward(self, F, x)",
    ),
    mistake(
        "class N(gluon.HybridBlock):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.w = self.params.get('w', shape=(2, 2))\n"
        "    def hybrid_forward(self, F, x): return x\n"
        "ready(N())(x)",
        AttributeTypeError,
        "N.w",
        "def hybrid_forward(self, F, x, w)",
    ),
    # ---- blocks of symbols, models
    mistake("gluon.SymbolBlock(mlp(), 'data')", ValueError, "'data'", "mx.sym.var"),
    mistake(
        "gluon.SymbolBlock(mlp(), [sym.var('data'), sym.var('softmax_label')])(x)",
        MXNetError,
        "not 1",
        "softmax_label",
    ),
    mistake(
        "mlp().save('a.json')\ngluon.SymbolBlock.imports('a.json', ['dta'])",
        MXNetError,
        "'dta'",
        "data",
    ),
    mistake(
        "gluon.SymbolBlock.imports('nothing.json', ['data'])",
        OSError,
        "nothing.json",
        "o such file",
    ),
    mistake("gluon.model_zoo.vision.get_model('resnet1')", ValueError, "resnet1", "resnet18_v1"),
    # ---- several devices
    mistake(
        "gluon.utils.split_and_load(x, [mx.cpu(0)] * 3)", ValueError, "3 parts", "even_split=False"
    ),
    mistake("gluon.utils.split_and_load(3, mx.cpu())", TypeError, "cpu(0)", "list of contexts"),
    mistake("gluon.utils.clip_global_norm([], 1)", AssertionError, "list", "non-empty"),
]
