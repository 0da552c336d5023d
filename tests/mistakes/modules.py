"""Mistakes with modules and older interfaces."""

from mixnet.base import (
    AttributeTypeError,
    AttributeValueError,
    CheckError,
    MissingFileError,
    ShapeError,
    UnknownNameError,
)
from tests.mistakes.mistake import mistake

MISTAKES = [
    # ---- the order of calls
    mistake(
        "mx.mod.Module(mlp()).forward(io.DataBatch([x], [nd.ones(2)]))",
        (CheckError, AssertionError),
        "Module.forward",
        "not bound",
        "bind(data_shapes, label_shapes) and init_params()",
    ),
    mistake("mx.mod.Module(mlp()).backward()", AssertionError, "Module.backward", "bind("),
    mistake("mx.mod.Module(mlp()).init_params()", AssertionError, "Module.init_params", "bind("),
    mistake(
        "mx.mod.Module(mlp()).init_optimizer()",
        AssertionError,
        "Module.init_optimizer",
        "init_params()",
    ),
    mistake("mx.mod.Module(mlp()).update()", AssertionError, "Module.update", "init_optimizer()"),
    mistake(
        "mx.mod.Module(mlp()).score(batches(), 'acc')", AssertionError, "Module.score", "bind("
    ),
    mistake("mx.mod.Module(mlp()).predict(batches())", AssertionError, "Module.predict", "bind("),
    mistake("mx.mod.Module(mlp()).get_params()", AssertionError, "Module.get_params", "bind("),
    mistake(
        "bound().forward(io.DataBatch([x], [nd.ones(2)]))",
        AssertionError,
        "Module.forward",
        "no parameters",
        "init_params()",
    ),
    mistake("begun().update()", AssertionError, "Module.update", "init_optimizer()"),
    mistake(
        "begun().get_input_grads()",
        AssertionError,
        "Module.get_input_grads",
        "inputs_need_grad=True",
    ),
    mistake(
        "mx.mod.Module(mlp()).bind([('data', (2, 3))], for_training=False, inputs_need_grad=True)",
        AssertionError,
        "inputs_need_grad=True",
        "for_training=True",
    ),
    # ---- names and shapes
    mistake("mx.mod.Module(mlp()).bind((2, 3))", TypeError, "(2, 3)", "[('data', (32, 10))]"),
    mistake("mx.mod.Module(mlp()).bind('data')", TypeError, "'data'", "list of names and shapes"),
    mistake(
        "mx.mod.Module(mlp()).bind([('data', (2, 'a'))])", TypeError, "(2, 'a')", "whole numbers"
    ),
    mistake(
        "mx.mod.Module(mlp()).bind([('dta', (2, 3))], [('softmax_label', (2,))])",
        ValueError,
        "dta",
        "data_names",
    ),
    mistake(
        "mx.mod.Module(mlp()).bind([('data', (2, 3))], [('label', (2,))])",
        (UnknownNameError, KeyError),
        "'label'",
        "softmax_label",
        "label_names",
    ),
    mistake(
        "mx.mod.Module(mlp(), label_names=['label']).fit(batches(label_name='label'), num_epoch=1)",
        (UnknownNameError, KeyError),
        "'label'",
        "softmax_label",
        "label_names",
    ),
    mistake(
        "m = mx.mod.Module(mlp(), label_names=None)\nm.bind([('data', (2, 3))])\nm.init_params()",
        AttributeValueError,
        "'softmax_label'",
        "label_names=[]",
        "name it there",
    ),
    mistake(
        "mx.mod.Module(mlp(), data_names=['dta'])", ValueError, "'dta'", "Did you mean one of: data"
    ),
    mistake(
        "mx.mod.Module(mlp(), fixed_param_names=['foo'])", ValueError, "'foo'", "list_arguments()"
    ),
    mistake("mx.mod.Module(mlp(), context='cpu')", AttributeTypeError, "'cpu'", "mx.cpu()"),
    mistake("mx.mod.Module(dense())", AttributeTypeError, "Dense", "a symbol"),
    mistake("begun().forward(x)", AttributeTypeError, "NDArray", "mx.io.DataBatch"),
    mistake(
        "begun().forward(io.DataBatch([y], [nd.ones(4)]))", ShapeError, "data=(4, 5)", "fc_weight"
    ),
    mistake("io.DataBatch(x)", AssertionError, "NDArray", "a list"),
    mistake(
        "begun().set_params({'fc_weigth': x}, {})", RuntimeError, "fc_bias", "allow_missing=True"
    ),
    mistake(
        "begun().set_params({'fc_weight': y, 'fc_bias': nd.ones(4)}, {})",
        ShapeError,
        "fc_weight",
        "(4, 5)",
        "(4, 3)",
    ),
    mistake("bound().init_params('foo')", TypeError, "'foo'", "mx.init.Xavier()"),
    mistake("begun().install_monitor(3)", TypeError, "3", "Monitor"),
    mistake(
        "mx.mod.Module(mlp(), context=[mx.cpu(0), mx.cpu(0)]).bind([('data', (1, 3))], "
        "[('softmax_label', (1,))])",
        ValueError,
        "1 samples",
        "2 contexts",
    ),
    # ---- training
    mistake("begun().init_optimizer(optimizer='sgdd')", ValueError, "sgdd", "'sgd'"),
    mistake(
        "begun().init_optimizer(optimizer_params={'learning_rat': 1})",
        TypeError,
        "'learning_rat'",
        "'learning_rate'",
    ),
    mistake("mx.mod.Module(mlp()).fit(batches())", AssertionError, "number of epochs", "num_epoch"),
    mistake("mx.mod.Module(mlp()).fit(x, num_epoch=1)", TypeError, "NDArray", "mx.io.NDArrayIter"),
    mistake(
        "mx.mod.Module(mlp()).fit(batches(), eval_metric='acuracy', num_epoch=1)",
        AssertionError,
        "acuracy is not",
        "'accuracy'",
    ),
    mistake(
        "mx.mod.Module(mlp()).fit(batches('dta'), num_epoch=1)", ValueError, "dta", "data_name"
    ),
    mistake("begun().predict(3)", ValueError, "int", "DataIter"),
    mistake("begun().score(batches(), 'acuracy')", AssertionError, "acuracy is not", "'accuracy'"),
    # ---- files
    mistake(
        "mx.mod.Module.load('nothing', 1)",
        (MissingFileError, OSError),
        "nothing-symbol.json",
        "o such file",
    ),
    mistake(
        "mx.model.load_checkpoint('nothing', 3)",
        MissingFileError,
        "nothing-symbol.json",
        "o such file",
    ),
    mistake(
        "m = begun()\nm.init_optimizer()\nm.load_optimizer_states('nothing')",
        (MissingFileError, OSError),
        "'nothing'",
        "o such file",
    ),
    # ---- the other modules
    mistake(
        "mx.mod.BucketingModule(lambda key: mlp())", AssertionError, "default_bucket_key", "sym_gen"
    ),
    mistake(
        "mx.mod.BucketingModule(lambda key: mlp(), default_bucket_key=1)",
        ValueError,
        "<Symbol softmax>",
        "(symbol, data_names, label_names)",
    ),
    mistake(
        "mx.mod.SequentialModule().bind([('data', (2, 3))])",
        AssertionError,
        "empty SequentialModule",
    ),
    mistake(
        "mx.model.FeedForward(mlp()).predict(numpy.ones((4, 3)))",
        AttributeError,
        "FeedForward.predict",
        "fit(X, y)",
    ),
    mistake(
        "mx.model.FeedForward(mlp(), num_epoch=1).fit(numpy.ones((4, 3)))",
        ValueError,
        "y must be",
        "numpy.ndarray",
    ),
]
