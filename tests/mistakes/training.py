"""Losses, metrics, optimizers, trainers, initializers, schedules and stores."""

from mixnet.base import (
    AttributeTypeError,
    AttributeValueError,
    CheckError,
    MissingFileError,
    MXNetError,
    NotAnArrayError,
    ShapeError,
    ZeroError,
)
from tests.mistakes.mistake import mistake

MISTAKES = [
    # ---- trainers
    mistake(
        "trainer('sgd', {'learning_rat': 1})",
        AttributeTypeError,
        "'learning_rat'",
        "SGD",
        "'learning_rate'",
    ),
    mistake("trainer('sgd', {'lr': 1})", AttributeTypeError, "'lr'", "'learning_rate'"),
    mistake(
        "trainer('adam', {'momentum': 0.9})", AttributeTypeError, "'momentum'", "Adam", "beta1"
    ),
    mistake(
        "net = nn.HybridSequential()\nnet.add(dense())\ngluon.Trainer(net.params, 'sgd')",
        AttributeTypeError,
        "net.params",
        "no Parameters",
        "net.collect_params()",
    ),
    mistake("trainer('sgdd')", AttributeValueError, "sgdd", "'sgd'"),
    mistake("trainer('sgd', 0.1)", AttributeTypeError, "0.1", "{'learning_rate': 0.1}"),
    mistake(
        "trainer(optimizer.SGD(), {'learning_rate': 1})",
        AssertionError,
        "optimizer_params",
        "must be None",
    ),
    mistake("gluon.Trainer(dense(), 'sgd')", ValueError, "Dense", "net.collect_params()"),
    mistake("gluon.Trainer([x], 'sgd')", ValueError, "NDArray", "list or dict of Parameters"),
    mistake(
        "trainer().step(0)", (ZeroError, ZeroDivisionError), "batch_size=0", "step(data.shape[0])"
    ),
    mistake(
        "trainer().update(0)", (ZeroError, ZeroDivisionError), "batch_size=0", "number of samples"
    ),
    mistake("trainer().step('a')", AttributeTypeError, "'a'", "number of samples"),
    mistake("trainer().step()", TypeError, "'batch_size'"),
    mistake(
        "trainer().step(2)",
        UserWarning,
        "_bias`",
        "autograd.record()",
        "ignore_stale_grad=True",
    ),
    mistake(
        "gluon.Trainer(nn.Dense(2).collect_params(), 'sgd').step(2)",
        RuntimeError,
        "_bias'",
        "net.initialize()",
    ),
    mistake(
        "trainer().load_states('nothing.states')",
        (MissingFileError, OSError),
        "nothing.states",
        "o such file",
    ),
    mistake(
        "t = trainer('sgd', {'lr_scheduler': lr_scheduler.FactorScheduler(10)})\nt.set_learning_rate(0.1)",
        UserWarning,
        "learning rate",
        "base_lr",
    ),
    # ---- optimizers
    mistake("optimizer.create('sgdd')", ValueError, "sgdd", "'sgd'"),
    mistake("optimizer.create(3)", TypeError, "3", "its name"),
    mistake("optimizer.SGD(lr=0.1)", AttributeTypeError, "'lr'", "'learning_rate'"),
    mistake("optimizer.SGD(momentun=0.9)", AttributeTypeError, "'momentun'", "'momentum'"),
    mistake("optimizer.SGD(lr_scheduler=0.1)", TypeError, "0.1", "FactorScheduler"),
    mistake("optimizer.SGD().update(0, x, y, None)", ShapeError, "grad has shape (4, 5)", "(2, 3)"),
    mistake("optimizer.get_updater('sgd')", TypeError, "'sgd'", "mx.optimizer.create"),
    # ---- losses
    mistake(
        "loss.L2Loss()(x, y)",
        (ShapeError, ValueError),
        "label: (4, 5)",
        "pred: (2, 3)",
        "same number of elements",
    ),
    mistake("loss.L1Loss()(x, nd.ones((2, 4)))", ShapeError, "label: (2, 4)", "L1Loss"),
    mistake(
        "net = loss.L2Loss()\nnet.hybridize()\nnet(x, y)",
        ShapeError,
        "label: (4, 5)",
        "pred: (2, 3)",
    ),
    mistake("loss.SigmoidBCELoss()(x, y)", ShapeError, "label: (4, 5)", "pred: (2, 3)"),
    mistake("loss.KLDivLoss()(x, y)", ShapeError, "label: (4, 5)", "KLDivLoss"),
    mistake("loss.L2Loss()(x)", AttributeTypeError, "1 input", "(pred, label"),
    mistake("loss.L2Loss()(None, x)", NotAnArrayError, "pred is None", "L2Loss", "return"),
    mistake("loss.SoftmaxCrossEntropyLoss()(x, None)", NotAnArrayError, "label is None", "return"),
    mistake("loss.L2Loss()(x, [1, 2])", NotAnArrayError, "[1, 2]", "mx.nd.array"),
    mistake("loss.L2Loss()(x, x, y)", ShapeError, "sample_weight: (4, 5)", "L2Loss"),
    mistake("loss.L2Loss(weight='a')", CheckError, "'a'", "sample_weight"),
    mistake("loss.SoftmaxCrossEntropyLoss()(x, nd.ones(3))", ShapeError, "label: (3,)", "(2,)"),
    mistake("loss.SoftmaxCrossEntropyLoss()(x, x)", ShapeError, "label: (2, 3)", "(2,)"),
    mistake(
        "loss.SoftmaxCrossEntropyLoss(sparse_label=False)(x, nd.ones(2))",
        ShapeError,
        "label: (2,)",
        "(2, 3)",
    ),
    mistake(
        "loss.SoftmaxCrossEntropyLoss()(x, numpy.ones(2))",
        (NotAnArrayError, AssertionError),
        "array([1., 1.])",
        "mx.nd.array",
    ),
    mistake("loss.TripletLoss()(x, x)", AttributeTypeError, "2 inputs", "negative"),
    mistake("loss.CTCLoss(layout='foo')", AssertionError, "'foo'", "'NTC'"),
    # ---- metrics
    mistake(
        "metric.create('acuracy')", (CheckError, AssertionError), "acuracy is not", "'accuracy'"
    ),
    mistake("metric.create(3)", AssertionError, "3", "must be a name"),
    mistake(
        "metric.CompositeEvalMetric(['acc', 'acuracy'])",
        AssertionError,
        "acuracy is not",
        "accuracy",
    ),
    mistake("metric.Accuracy(axs=1)", TypeError, "'axs'"),
    mistake("metric.Accuracy().update([nd.ones(3)], [x])", ValueError, "labels 3", "predictions 2"),
    mistake(
        "metric.Accuracy().update(nd.ones(2), [x, x, x])", ValueError, "labels 2", "predictions 3"
    ),
    mistake(
        "metric.Accuracy('class accuracy').update([nd.ones(2)], [x])",
        MXNetError,
        "axis='class accuracy'",
        "name=",
    ),
    mistake(
        "metric.Accuracy().update(x, nd.ones(2))",
        ShapeError,
        "(2, 3)",
        "(2,)",
        "update(labels, preds)",
    ),
    mistake("metric.MAE().update([nd.ones(8)], [nd.ones(3)])", ValueError, "float32[8]"),
    mistake("metric.TopKAccuracy(top_k=1)", AssertionError, "top_k=1", "Accuracy"),
    mistake(
        "metric.TopKAccuracy(top_k=5).update([nd.ones(2)], [x])", ValueError, "top_k=5", "3 classes"
    ),
    mistake("metric.CrossEntropy().update([nd.ones(3)], [x])", AssertionError, "(3,)", "(2, 3)"),
    mistake("metric.Perplexity(None).update([nd.ones(3)], [x])", AssertionError, "(3,)", "(2, 3)"),
    mistake(
        "metric.MSE().update([nd.ones(3)], [x])",
        ShapeError,
        "label: float32[3]",
        "pred: float32[2, 3]",
    ),
    mistake("metric.CustomMetric(3)", TypeError, "3", "function"),
    # ---- initializers
    mistake("init.create('xaveir')", (CheckError, AssertionError), "xaveir is not", "'xavier'"),
    mistake(
        "nn.Dense(2).initialize(init.Xavier)",
        (CheckError, AssertionError),
        "a class",
        "Xavier()",
    ),
    mistake(
        "gluon.Parameter('w', shape=(2, 3), init=init.Xavier).initialize()",
        AssertionError,
        "a class",
        "Xavier()",
    ),
    mistake("bound().init_params(init.Xavier)", TypeError, "Xavier'", "such as mx.init.Xavier()"),
    mistake("init.Xavier(rnd_type='foo')('w_weight', x)", ValueError, "'foo'", "'uniform'"),
    mistake("init.Xavier()('w_weight', nd.ones(3))", ValueError, "(3,)", "2 axes"),
    mistake("init.Xavier()('foo', x)", ValueError, "'foo'", "mx.init.Zero()"),
    mistake("init.Bilinear()('w_weight', x)", IndexError, "(2, 3)", "height, width"),
    mistake("init.Mixed(['.*weight'], [])", AssertionError, "1 patterns", "0 initializers"),
    mistake("init.Mixed(['.*weight'], [init.One()])('w_bias', x)", ValueError, "w_bias", '".*"'),
    # ---- schedules
    mistake("lr_scheduler.FactorScheduler(0)", ValueError, "0", "1 round"),
    mistake("lr_scheduler.FactorScheduler('a')", TypeError, "'a'", "number of updates"),
    mistake("lr_scheduler.FactorScheduler(10, factor=2)", ValueError, "2", "no more than 1"),
    mistake("lr_scheduler.MultiFactorScheduler([10, 5])", ValueError, "[10, 5]", "increasing"),
    mistake("lr_scheduler.PolyScheduler(10.5)", AssertionError, "10.5", "whole number"),
    mistake("lr_scheduler.CosineScheduler(10, warmup_mode='foo')", ValueError, "'foo'", "linear"),
    # ---- stores
    mistake("kv.create(3)", TypeError, "3", "must be a string"),
    mistake("kv.create('local').pull(3, out=x)", MXNetError, "key 3", "init(key, value)"),
    mistake("kv.create('local').push(3, x)", MXNetError, "key 3", "init(key, value)"),
    mistake(
        "store = kv.create('local')\nstore.init(3, x)\nstore.init(3, x)",
        MXNetError,
        "key 3",
        "push",
    ),
    mistake(
        "store = kv.create('local')\nstore.init(3, x)\nstore.push(3, y)",
        ShapeError,
        "(4, 5)",
        "(2, 3)",
    ),
    mistake(
        "store = kv.create('local')\nstore.init(3, x)\nstore.push('a', x)", MXNetError, "'a'", "int"
    ),
    mistake("kv.create('local').init([3, 4], x)", AssertionError, "2 keys", "list of 2 values"),
    mistake("kv.create('local').set_optimizer('sgd')", TypeError, "'sgd'", "mx.optimizer.create"),
    mistake(
        "kv.create('local').set_gradient_compression({'type': 'foo'})", ValueError, "foo", "2bit"
    ),
    mistake(
        "kv.create('local').set_gradient_compression('2bit')",
        AssertionError,
        "str",
        "{'type': '2bit'}",
    ),
    mistake(
        "kv.create('local').save_optimizer_states('a')", AssertionError, "states", "set_optimizer"
    ),
    # ---- what goes around them
    mistake(
        "from mixnet.contrib import amp\namp.init('float8')", AssertionError, "'float8'", "bfloat16"
    ),
    mistake(
        "from mixnet.gluon.contrib import estimator\nestimator.Estimator(dense(), loss=3)",
        AttributeValueError,
        "3",
        "gluon.loss",
    ),
    mistake(
        "from mixnet.gluon.contrib import estimator\n"
        "estimator.Estimator(dense(), loss=loss.L2Loss()).fit([x], epochs=1)",
        ValueError,
        "list",
        "DataLoader",
    ),
]
