"""Symbols and executors."""

from mixnet.base import (
    AttributeTypeError,
    AttributeValueError,
    FileFormatError,
    GradientError,
    IndexingError,
    MissingFileError,
    MXNetError,
    NotAnArrayError,
    NotImplementedForSymbol,
    ShapeError,
)
from tests.mistakes.mistake import mistake

MISTAKES = [
    # ---- composing
    mistake("sym.var(3)", TypeError, "int", "a string"),
    mistake(
        "sym.FullyConected(sym.var('data'), num_hidden=3)",
        AttributeError,
        "'FullyConected'",
        "'FullyConnected'",
    ),
    mistake(
        "sym.FullyConnected(x, num_hidden=3)",
        (NotAnArrayError, AssertionError),
        "NDArray",
        "mx.sym.Variable",
    ),
    mistake("sym.FullyConnected(sym.var('data'))", TypeError, "'num_hidden'", "required"),
    mistake("sym.FullyConnected(dat=sym.var('data'), num_hidden=3)", TypeError, "'dat'", "'data'"),
    mistake(
        "sym.RNN(*map(sym.var, 'xwhc'), mode='gru', state_size=3, num_layers=1)",
        MXNetError,
        "no state_cell",
        "mode='gru'",
        "it has data, parameters, state.",
        "Leave out state_cell",
    ),
    mistake("sym.Activation(sym.var('data'), act_type='foo')", ValueError, "'foo'", "'relu'"),
    mistake(
        "sym.concat(sym.var('a'), x)",
        (NotAnArrayError, AssertionError),
        "NDArray",
        "mx.sym.Variable",
    ),
    mistake("sym.var('a') + x", TypeError, "NDArray", "(2, 3)", "bind"),
    mistake("sym.var('a') + 'b'", TypeError, "'str'"),
    mistake("sym.Group(sym.var('a'))", TypeError, "<Symbol a>", "list of symbols"),
    mistake("sym.Group([sym.var('a'), 3])", TypeError, "3", "list of symbols"),
    mistake("sym.var('a')(foo=sym.var('b'))", TypeError, "'foo'", "has a"),
    mistake("sym.var('a', foo='b')", AttributeValueError, "'foo'", "'__foo__'"),
    mistake("mlp()['foo']", ValueError, "'foo'", "softmax_output"),
    mistake("mlp()[3]", (IndexingError, IndexError), "3", "1 output"),
    mistake("bool(sym.var('a') > 0)", NotImplementedForSymbol, "bool", "bind"),
    mistake("sym.var('a').asnumpy()", NotImplementedForSymbol, "asnumpy", "bind"),
    # ---- shapes
    mistake("mlp().infer_shape(dta=(2, 3))", TypeError, "'dta'", "Did you mean 'data'?"),
    mistake("mlp().infer_shape(data='a')", TypeError, "'a'", "'data'", "whole numbers"),
    mistake("mlp().infer_shape(data=3)", TypeError, "3", "'data'"),
    mistake("mlp().infer_shape((2, 3), data=(2, 3))", ValueError, "list_arguments()", "by name"),
    mistake(
        "mlp().infer_shape(data=(2, 3), softmax_label=(5,))",
        ShapeError,
        "(5,)",
        "'softmax'",
        "(2,)",
    ),
    mistake(
        "mlp().infer_shape(data=(2, 3), fc_weight=(4, 7))", ShapeError, "(4, 7)", "'fc'", "(4, 3)"
    ),
    mistake("mlp().infer_type(data='foo')", TypeError, "'foo'", "float32"),
    mistake(
        "(sym.var('a') + sym.var('b')).infer_shape(a=(2, 3), b=(4, 5))",
        ShapeError,
        "b: (4, 5)",
        "a: (2, 3)",
    ),
    mistake(
        "sym.Concat(sym.var('a'), dim=3).infer_shape(a=(2, 3))", ShapeError, "a: (2, 3)", "Concat"
    ),
    # ---- binding
    mistake(
        "mlp().simple_bind(mx.cpu(), dd=(2, 3))",
        (ShapeError, RuntimeError),
        "dd=(2, 3)",
        "no such variable",
        "data",
    ),
    mistake(
        "mlp().simple_bind(mx.cpu(), dta=(2, 3))", ShapeError, "dta=(2, 3)", "Did you mean 'data'?"
    ),
    mistake(
        "mlp().simple_bind(mx.cpu(), data=x)", TypeError, "'data'", "shape is a tuple", "NDArray"
    ),
    mistake("mlp().infer_shape(data=x)", TypeError, "'data'", "shape is a tuple", "NDArray"),
    mistake("mlp().simple_bind(mx.cpu())", ShapeError, "data, fc_weight", "by name"),
    mistake(
        "mlp().simple_bind(mx.cpu(), data=(2, 3), grad_req='foo')", RuntimeError, "'foo'", "'write'"
    ),
    mistake("mlp().bind(mx.cpu(), {'data': x})", ValueError, "fc_weight", "no array"),
    mistake("mlp().bind(mx.cpu(), [x])", ValueError, "1 arrays", "4"),
    mistake("sym.var('a').bind(mx.cpu(), {'a': 3})", TypeError, "int", "a must be an NDArray"),
    mistake(
        "sym.var('a').bind(mx.cpu(), {'a': x}, grad_req='foo')", ValueError, "'foo'", "'write'"
    ),
    mistake("sym.var('a').eval()", ValueError, "a", "no array"),
    mistake("executor().forward(data=y)", ShapeError, "(4, 5)", "reshape"),
    mistake("executor().forward(dta=x)", TypeError, "'dta'", "data"),
    mistake("executor().forward(data=3)", AttributeValueError, "int", "NDArray"),
    mistake(
        "e = executor()\ne.forward(is_train=True)\ne.backward(y)", GradientError, "(4, 5)", "(2, 4)"
    ),
    mistake(
        "executor().copy_params_from({'foo': x})", ValueError, "'foo'", "allow_extra_params=True"
    ),
    mistake(
        "executor().reshape(data=(4, 7))",
        ShapeError,
        "data would grow from (2, 3) to (4, 7)",
        "allow_up_sizing=True",
    ),
    mistake("executor().set_monitor_callback(3)", AttributeTypeError, "3", "function"),
    # ---- files and pictures
    mistake("sym.load('nothing.json')", (MissingFileError, OSError), "nothing.json", "o such file"),
    mistake("sym.load_json('abc')", FileFormatError, "line 1", "Save it again"),
    mistake("sym.load_json('{}')", FileFormatError, "'nodes'", "not a symbol file"),
    mistake("mx.viz.print_summary(mlp(), shape=(2, 3))", TypeError, "(2, 3)", "{'data': (1, 10)}"),
    mistake("mx.viz.plot_network(3)", TypeError, "int", "a Symbol"),
    mistake("mx.viz.plot_network(dense())", TypeError, "Dense", 'net(mx.sym.var("data"))'),
    mistake("mx.viz.print_summary(nn.Sequential())", TypeError, "Sequential", "net.summary(x)"),
    # ---- scopes
    mistake("mx.AttrScope(a=3)", ValueError, "a=3", "'3'"),
    mistake("mx.name.Prefix(3)", TypeError, "3", "a string"),
]
