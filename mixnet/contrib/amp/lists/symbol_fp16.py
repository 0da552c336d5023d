"""MXNet 1.9.1's lists of operators for float16, built from the operators' declarations."""

from mixnet.contrib.amp.lists.declared import conditional, in_half, losses

# Names that MXNet lists separately from the operator that they stand for.
_OF_ANY_PRECISION = ["_add", "_sparse_FullyConnected", "_sparse_concat", "_sparse_sinh"]
_SPARSE_SUM = "_sparse_sum"

# ``include`` lists names that MXNet has and mixnet does not.
FP16_FP32_FUNCS = in_half(
    None,
    include=[
        *_OF_ANY_PRECISION,
        "CuDNNBatchNorm",
        "_CachedOp",
        "_CrossDeviceCopy",
        "_CustomFunction",
        "_NoGradient",
        "_TensorRT",
        "_broadcast_backward",
        "_cvcopyMakeBorder",
        "_cvimdecode",
        "_cvimread",
        "_cvimresize",
        "_imdecode",
        "_onehot_encode",
        "_set_value",
        "_split_v2_backward",
        "_zeros_without_dtype",
    ],
    exclude=["_negative"],
)
"""Operators that compute in the precision of their inputs."""

FP16_FUNCS = in_half("low", exclude=_OF_ANY_PRECISION)
"""Operators that compute in float16."""

FP32_FUNCS = in_half(
    "full", include=["_NDArray", "_Native"], exclude=[*_OF_ANY_PRECISION, _SPARSE_SUM]
)
"""Operators that need float32."""

CONDITIONAL_FP32_FUNCS = conditional()
"""Operators that need float32 where an attribute has one of these values."""

WIDEST_TYPE_CASTS = in_half(
    "widest",
    include=[
        _SPARSE_SUM,
        "_contrib_dgl_adjacency",
        "_contrib_dgl_csr_neighbor_non_uniform_sample",
        "_contrib_dgl_csr_neighbor_uniform_sample",
        "_contrib_dgl_graph_compact",
        "_contrib_dgl_subgraph",
        "_contrib_edge_id",
    ],
    exclude=_OF_ANY_PRECISION,
)
"""Operators whose inputs all get the widest precision among them."""

NAMES = [
    *FP16_FUNCS,
    *FP16_FP32_FUNCS,
    *FP32_FUNCS,
    *WIDEST_TYPE_CASTS,
    *[name for name, _, _ in CONDITIONAL_FP32_FUNCS],
]
"""Every operator that MXNet lists, for either precision."""

LOSS_OUTPUT_FUNCTIONS = losses(exclude=["SVMOutput"])
"""Operators that are a loss, with a gradient of their own."""
