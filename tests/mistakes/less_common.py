"""Conversions, schedules, detection, and modules that few programs use."""

from mixnet.base import AttributeTypeError, CheckError, NotDefinedError, ShapeError
from tests.mistakes.mistake import mistake

AMP = "from mixnet.contrib import amp\n"

MISTAKES = [
    # ---- conversion to half precision
    mistake(AMP + "amp.convert_symbol(3)", AssertionError, "int", "convert_symbol", "Symbol"),
    mistake(
        AMP + "amp.convert_symbol(mlp(), target_dtype_ops='Convolution')",
        AssertionError,
        "'Convolution'",
        "list of names",
    ),
    mistake(
        AMP + "amp.convert_symbol(mlp(), excluded_sym_names='fc')",
        AssertionError,
        "'fc'",
        "excluded_sym_names",
        "list of names",
    ),
    mistake(
        AMP + "amp.convert_symbol(mlp(), 'float64')",
        AssertionError,
        "'float64'",
        "float16 and bfloat16",
    ),
    mistake(AMP + "amp.convert_model(mlp(), [], {})", AssertionError, "list", "arg_params", "dict"),
    mistake(AMP + "amp.convert_hybrid_block(3)", AssertionError, "int", "HybridBlock"),
    mistake(AMP + "amp.amp.convert_bucketing_module(3)", AssertionError, "int", "BucketingModule"),
    # ---- schedules
    mistake("lr_scheduler.LRScheduler(0.1, warmup_begin_lr=0.5)", ValueError, "0.5", "base_lr=0.1"),
    mistake("lr_scheduler.LRScheduler(warmup_steps=-2)", ValueError, "-2", "0 or more"),
    mistake(
        "lr_scheduler.LRScheduler(warmup_mode='cubic')",
        ValueError,
        "'cubic'",
        "'linear' or 'constant'",
    ),
    mistake("lr_scheduler.LRScheduler()(3)", NotImplementedError, "LRScheduler", "__call__"),
    # ---- images
    mistake("image.Augmenter()(x)", NotDefinedError, "Augmenter", "__call__(self, src)"),
    mistake("image.DetBorrowAug(3)", TypeError, "int", "mx.image.Augmenter"),
    mistake(
        "image.DetRandomSelectAug([image.CastAug()])",
        ValueError,
        "CastAug",
        "DetAugmenters",
        "DetBorrowAug",
    ),
    mistake("image.imdecode('a.jpg')", ValueError, "str", "bytes", "imread"),
    mistake("image.imrotate(images.astype('uint8'), 3)", TypeError, "uint8", "float32", "astype"),
    mistake("image.imrotate(x, 3)", ValueError, "(2, 3)", "(channels, height, width)"),
    mistake("image.imrotate(images[0], [3, 4])", TypeError, "[3, 4]", "one number"),
    mistake("image.imrotate(images, nd.array([1, 2, 3]))", ValueError, "3", "2 images"),
    # ---- metrics, stores, modules
    mistake(
        "metric.TopKAccuracy(2).update([nd.ones(2)], [images])", AssertionError, "(2, 3, 8, 8)"
    ),
    mistake("metric.TopKAccuracy(9).update([nd.ones(2)], [x])", ValueError, "top_k=9", "3 classes"),
    mistake("kv.create('local').init(['a', 1], [x, x])", AssertionError, "['a', 1]", "strings"),
    mistake("kv.create('local').init(3.5, x)", AssertionError, "float", "a string or a number"),
    mistake(
        "m = mx.mod.Module(mlp())\n"
        "m.bind([('data', (2, 3))], [('softmax_label', (2,))], grad_req=['write'])",
        AssertionError,
        "1 entries",
        "data, fc_weight, fc_bias, softmax_label",
    ),
    mistake(
        "mx.mod.SequentialModule().add(mx.mod.Module(mlp()), labels=True)",
        CheckError,
        "labels",
        "take_labels",
    ),
    mistake(
        "mx.mod.BucketingModule.load_dict({}, None, 3, {}, {})",
        AssertionError,
        "sym_gen",
        "load_dict",
    ),
    mistake(
        "executor().reshape(data=(2, 2))",
        ShapeError,
        "data=(2, 2)",
        "fc_weight",
        "partial_shaping=True",
    ),
    mistake("mx.viz.print_summary(3)", AttributeTypeError, "int", "Symbol"),
    mistake("mx.util.use_np(3)", TypeError, "int", "a function or a class"),
]
