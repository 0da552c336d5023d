"""Operators: their inputs, shapes and attributes."""

from mixnet.base import (
    AttributeTypeError,
    AttributeValueError,
    MXNetError,
    NotAnArrayError,
    ShapeError,
)
from tests.mistakes.mistake import mistake

MISTAKES = [
    # ---- what is no array
    mistake("nd.relu(3)", (NotAnArrayError, AssertionError), "int", "mx.nd.array"),
    mistake("nd.relu(numpy.ones((2, 3)))", (TypeError, AssertionError), "ndarray", "mx.nd.array"),
    mistake("nd.dot(x, [1, 2])", (TypeError, AssertionError), "list", "rhs must be an NDArray"),
    mistake("nd.relu([x, x])", (TypeError, AssertionError), "list", "mx.nd.stack"),
    mistake("nd.relu(sym.var('a'))", (TypeError, AssertionError), "Symbol", "NDArray"),
    mistake("nd.exp()", TypeError, "'data' was not given", "exp(data)"),
    # ---- keywords and values
    mistake("nd.sum(x, axes=1)", TypeError, "'axes'", "Did you mean 'axis'?"),
    mistake("nd.one_hot(nd.array([1, 2]), deph=3)", TypeError, "'deph'", "'depth'"),
    mistake("nd.concat(x, x, axis=1)", TypeError, "'axis'", "dim=1"),
    mistake("nd.Embedding(x, y, input_dim=5)", TypeError, "'output_dim'", "required"),
    mistake(
        "nd.FullyConnected(x, nd.ones((4, 3)), nd.ones(4), num_hiden=4)",
        TypeError,
        "'num_hiden'",
        "'num_hidden'",
    ),
    mistake(
        "nd.FullyConnected(x, nd.ones((4, 3)), nd.ones(4), num_hidden='four')",
        ValueError,
        "'four'",
        "whole number",
    ),
    mistake(
        "nd.Convolution(images, x, kernel=(3, 3), num_filter=4, padding=1)",
        TypeError,
        "'padding'",
        "'pad'",
    ),
    mistake("nd.Activation(x, act_type='Relu')", AttributeValueError, "'Relu'", "'relu'"),
    mistake(
        "nd.Pooling(images, kernel=(2, 2), pool_type='maximum')", ValueError, "'maximum'", "'max'"
    ),
    mistake("nd.Dropout(x, p='a')", AttributeValueError, "p='a'", "a number"),
    mistake("nd.clip(x, 'a', 3)", AttributeValueError, "a_min='a'", "a number"),
    mistake("nd.L2Normalization(x, mode='foo')", AttributeValueError, "'foo'", "'channel'"),
    mistake("nd.Custom(x, op_type='nothing')", MXNetError, "'nothing'", "mx.operator.register"),
    # ---- the name as users write it
    mistake("mnp.random.uniform(dtype='int32')", AttributeValueError, "uniform: dtype='int32'"),
    mistake("nd.sample_multinomial(nd.array([1], dtype='int32'))", MXNetError, "multinomial: data"),
    mistake("nd.contrib.allclose(x, nd.ones((3,)))", ShapeError, "allclose: a is (2, 3)"),
    mistake("nd.random.randint(3, 1)", AttributeValueError, "randint: low=3"),
    # ---- axes
    mistake("nd.sum(x, axis=2)", ShapeError, "axis=(2,)", "2 axes"),
    mistake("nd.argmax(x, axis=4)", ShapeError, "axis=4", "2 axes"),
    mistake(
        "nd.SoftmaxActivation(x, mode='channel')",
        ShapeError,
        "at least 3 axes",
        "mode='instance' takes this",
    ),
    mistake("nd.softmax(x, axis=7)", ShapeError, "axis=7", "2 axes"),
    mistake("npx.softmax(mnp.ones((2, 3)), axis=5)", ShapeError, "axis=5", "2 axes"),
    mistake("nd.expand_dims(x, axis=5)", ShapeError, "axis=5", "give one from -3 to 2"),
    mistake("nd.swapaxes(x, 0, 3)", ShapeError, "dim2=3", "2 axes"),
    mistake("nd.slice_axis(x, axis=3, begin=0, end=1)", ShapeError, "axis=3", "2 axes"),
    mistake("nd.transpose(x, axes=(0, 5))", ShapeError, "(0, 5)", "give one from -2 to 1"),
    mistake("nd.transpose(x, axes=(0, 0))", ShapeError, "(0, 0)", "2 axes"),
    mistake("nd.sort(x, axis=3)", ShapeError, "axis=3", "2 axes"),
    mistake("nd.flip(x, axis=3)", ShapeError, "(3,)", "2 axes"),
    mistake("nd.squeeze(x, axis=0)", ShapeError, "(0,)", "extent 1"),
    mistake("nd.topk(x, k=5)", AttributeValueError, "k=5", "give 3 or less"),
    mistake("nd.slice(x, begin=(0, 0, 0), end=(1, 1, 1))", ShapeError, "(0, 0, 0)", "2"),
    # ---- shapes
    mistake("nd.dot(x, y)", ShapeError, "(4, 5)", "transpose_a"),
    mistake("nd.batch_dot(x, y)", ShapeError, "(4, 5)", "(batch, rows, columns)"),
    mistake("nd.elemwise_add(x, y)", ShapeError, "(4, 5)", "broadcast_"),
    mistake("nd.concat(x, y)", ShapeError, "(4, 5)", "axis 1"),
    mistake("nd.concat()", ShapeError, "()", "at least one array"),
    mistake("nd.stack(x, y)", ShapeError, "(4, 5)", "as many elements as the first"),
    mistake("nd.split(x, num_outputs=2)", ShapeError, "2 equal parts", "extent 3"),
    mistake("nd.reshape_like(x, y)", ShapeError, "(4, 5)", "(2, 3) has 6 elements"),
    mistake(
        "nd.broadcast_to(x, shape=(4, 5))",
        ShapeError,
        "(4, 5)",
        "only axes of extent 1 are repeated",
    ),
    mistake("nd.where(x, y, x)", ShapeError, "(4, 5)", "same shape"),
    mistake("nd.pick(x, nd.ones(5))", ShapeError, "(5,)", "(2,)"),
    mistake("nd.batch_take(x, nd.ones(3, dtype='int32'))", ShapeError, "int32[3]", "do not fit"),
    mistake("nd.softmax_cross_entropy(x, nd.ones(3))", ShapeError, "(2, 3) and (3,)"),
    mistake(
        "nd.SoftmaxOutput(images, nd.ones(1), multi_output=True)",
        ShapeError,
        "(1,)",
        "needs 128, of shape (2, 64)",
    ),
    mistake("nd.linalg.potrf(x)", ShapeError, "(2, 3)", "(..., n, n)"),
    mistake("nd.contrib.boolean_mask(x, nd.ones(3))", ShapeError, "(3,)", "2 slices"),
    mistake("mnp.concatenate([mnp.ones((2, 3)), mnp.ones((4, 5))])", ShapeError, "(4, 5)"),
    mistake(
        "mnp.einsum('ij,jk->ik', mnp.ones((2, 3)), mnp.ones((2, 3)))",
        ValueError,
        "ij,jk->ik",
        "do not fit",
    ),
    # ---- layers
    mistake(
        "nd.FullyConnected(x, nd.ones((4, 3)), num_hidden=4)",
        ShapeError,
        "'bias' was not given",
        "no_bias=False",
    ),
    mistake(
        "nd.FullyConnected(x, nd.ones((4, 3)), nd.ones(5), num_hidden=4)",
        ShapeError,
        "(5,)",
        "both start with num_hidden",
    ),
    mistake(
        "nd.FullyConnected(x, y, num_hidden=4, no_bias=True)",
        ShapeError,
        "(4, 5)",
        "data (2, 3) has 3",
    ),
    mistake(
        "nd.Convolution(x, nd.ones((4, 3, 3, 3)), no_bias=True, kernel=(3, 3), num_filter=4)",
        ShapeError,
        "(2, 3)",
        "batch, channels and 2 spatial",
    ),
    mistake(
        "nd.Convolution(images, nd.ones((4, 5, 3, 3)), no_bias=True, kernel=(3, 3), num_filter=4)",
        ShapeError,
        "(4, 5, 3, 3)",
        "need (4, 3, 3, 3)",
    ),
    mistake(
        "nd.Convolution(images, nd.ones((4, 3, 11, 11)), no_bias=True, kernel=(11, 11), num_filter=4)",
        ShapeError,
        "(11, 11)",
        "smaller kernel",
    ),
    mistake(
        "nd.Convolution(images, images, no_bias=True, kernel=(3, 3), num_filter=4, num_group=2)",
        ShapeError,
        "num_group",
        "multiples",
    ),
    mistake(
        "nd.Pooling(images, kernel=(11, 11), pool_type='max')",
        ShapeError,
        "11",
        "the extents (8, 8)",
    ),
    mistake("nd.LeakyReLU(x, act_type='prelu')", ShapeError, "'prelu'", "'gamma' was not given"),
    mistake(
        "nd.CTCLoss(nd.ones((4, 1, 3)), nd.ones((1, 2)), use_data_lengths=True)",
        ShapeError,
        "use_data_lengths=True",
        "'data_lengths' was not given",
    ),
    mistake(
        "nd.contrib.DeformableConvolution(images, nd.ones((2, 18, 8, 8)), nd.ones((1, 3, 3, 3)),"
        " kernel=(3, 3), pad=(1, 1), num_filter=1)",
        ShapeError,
        "'bias' was not given",
        "no_bias",
    ),
    mistake(
        "nd.SequenceReverse(x, use_sequence_length=True)",
        ShapeError,
        "use_sequence_length=True",
        "'sequence_length' was not given",
    ),
    mistake(
        "nd.BatchNorm(images, nd.ones(4), nd.ones(4), nd.ones(4), nd.ones(4))",
        ShapeError,
        "gamma is (4,)",
        "give gamma the shape (3,)",
    ),
    mistake("nd.LayerNorm(x, nd.ones(5), nd.ones(5))", ShapeError, "(5,)", "the shape (3,)"),
    mistake(
        "nd.InstanceNorm(images, nd.ones(2), nd.ones(2))", ShapeError, "(2,)", "the shape (3,)"
    ),
    mistake(
        "nd.Embedding(x, nd.ones((5, 2)), input_dim=5, output_dim=3)",
        ShapeError,
        "(5, 2)",
        "(5, 3)",
    ),
    mistake(
        "nd.RNN(x, x, x, state_size=3, num_layers=1, mode='rnn_tanh')",
        ShapeError,
        "(2, 3)",
        "(time, batch, units)",
    ),
    mistake("nd.CTCLoss(x, nd.ones((2, 3)))", ShapeError, "(2, 3)", "(time, batch, classes)"),
    mistake("nd.sgd_update(x, y, lr=0.1)", ShapeError, "grad has shape (4, 5)", "(2, 3)"),
    # ---- images
    mistake("nd.image.to_tensor(x)", ShapeError, "(2, 3)", "(height, width, channels)"),
    mistake("nd.image.crop(nd.ones((4, 4, 3)), 0, 0, 9, 9)", ValueError, "width=9", "4 columns"),
    mistake(
        "nd.image.normalize(nd.ones((3, 4, 4)), mean=(1, 2), std=(1, 1))",
        AttributeValueError,
        "(1.0, 2.0)",
        "1 or 3",
    ),
    mistake("nd.contrib.box_iou(x, x)", ShapeError, "(2, 3)", "4 numbers"),
    mistake(
        "nd.contrib.ROIAlign(images, nd.ones((1, 4)), pooled_size=(2, 2), spatial_scale=1)",
        ShapeError,
        "(1, 4)",
        "(regions, 5)",
    ),
    # ---- operators of one's own
    mistake(
        "class P(mx.operator.CustomOpProp):\n"
        "    def __init__(self, size): super().__init__()\n"
        "mx.operator.register('mistaken')(P)\n"
        "nd.Custom(x, op_type='mistaken')",
        AttributeTypeError,
        "'mistaken'",
        "'size'",
    ),
]
