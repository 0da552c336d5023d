"""Aliases of operators: MXNet registers many operators again under other names.

``mx.nd.sparse.X`` is ``_sparse_X``, ``mx.npx.x`` is ``_npx_x`` and the functions of ``mx.np`` are
``_npi_x`` and ``_np_x``. Where such a name is an operator that exists already, it stands here.
"""

from __future__ import annotations

from mixnet.ops.registry import OPERATORS

SPARSE = [
    "Embedding",
    "FullyConnected",
    "LinearRegressionOutput",
    "LogisticRegressionOutput",
    "MAERegressionOutput",
    "abs",
    "adam_update",
    "add_n",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctanh",
    "broadcast_add",
    "broadcast_div",
    "broadcast_minus",
    "broadcast_mul",
    "broadcast_plus",
    "broadcast_sub",
    "cast_storage",
    "cbrt",
    "ceil",
    "clip",
    "concat",
    "cos",
    "cosh",
    "degrees",
    "dot",
    "elemwise_add",
    "elemwise_div",
    "elemwise_mul",
    "elemwise_sub",
    "exp",
    "expm1",
    "fix",
    "floor",
    "ftrl_update",
    "gamma",
    "gammaln",
    "log",
    "log10",
    "log1p",
    "log2",
    "make_loss",
    "mean",
    "negative",
    "norm",
    "radians",
    "relu",
    "rint",
    "round",
    "rsqrt",
    "sgd_mom_update",
    "sgd_update",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "slice",
    "sqrt",
    "square",
    "stop_gradient",
    "sum",
    "tan",
    "tanh",
    "trunc",
    "where",
    "zeros_like",
    "ElementWiseSum",
    "_contrib_round_ste",
    "_contrib_sign_ste",
]

# Shared between mx.nd and mx.np under one name.
NUMPY_SAME = ["argsort", "clip", "expand_dims", "gather_nd", "slice", "sort", "take", "tile"]

OTHERS = {
    "Activation": ["_npx_activation"],
    "BatchNorm": ["_npx_batch_norm"],
    "Cast": ["_npx_cast", "_npi_cast"],
    "Convolution": ["_npx_convolution"],
    "Custom": ["_npi_Custom"],
    "Deconvolution": ["_npx_deconvolution"],
    "Dropout": ["_npx_dropout"],
    "Embedding": ["_npx_embedding"],
    "Flatten": ["_npx_batch_flatten"],
    "FullyConnected": ["_npx_fully_connected"],
    "LayerNorm": ["_npx_layer_norm"],
    "LeakyReLU": ["_npx_leaky_relu"],
    "Pooling": ["_npx_pooling"],
    "SequenceMask": ["_npx_sequence_mask"],
    "SwapAxis": ["_npi_swapaxes"],
    "_contrib_arange_like": ["_npx_arange_like"],
    "_full": ["_npi_full"],
    "_hypot_scalar": ["_npi_hypot_scalar"],
    "_linspace": ["_npi_linspace"],
    "_maximum_scalar": ["_npi_maximum_scalar"],
    "_minimum_scalar": ["_npi_minimum_scalar"],
    "_scatter_set_nd": ["_npi_scatter_set_nd"],
    "_shuffle": ["_npi_shuffle"],
    "_split_v2": ["_npi_split"],
    "batch_dot": ["_npx_batch_dot"],
    "broadcast_maximum": ["_npi_maximum"],
    "broadcast_minimum": ["_npi_minimum"],
    "erf": ["_npx_erf"],
    "erfinv": ["_npx_erfinv"],
    "gamma": ["_npx_gamma"],
    "gammaln": ["_npx_gammaln"],
    "gather_nd": ["_npx_gather_nd"],
    "log_softmax": ["_npx_log_softmax"],
    "one_hot": ["_npx_one_hot"],
    "pick": ["_npx_pick"],
    "repeat": ["_np_repeat"],
    "reshape_like": ["_npx_reshape_like"],
    "shape_array": ["_npx_shape_array"],
    "slice": ["_npx_slice"],
    "smooth_l1": ["_npx_smooth_l1"],
    "softmax": ["_npx_softmax"],
    "topk": ["_npx_topk"],
}


def _install() -> None:
    for prefix, names in (("_sparse_", SPARSE), ("_npi_", NUMPY_SAME)):
        for name in names:
            if name in OPERATORS:
                OPERATORS[prefix + name] = OPERATORS[name]
    for name, aliases in OTHERS.items():
        for alias in aliases:
            OPERATORS[alias] = OPERATORS[name]


_install()
