"""The names of the inputs of operators, as monitors show them."""

from __future__ import annotations

from mixnet.graph.node import Node
from mixnet.ops.op import Op

_NUMBERED_TEXT = """
    _contrib_AdaptiveAvgPooling2D _contrib_arange_like _contrib_backward_gradientmultiplier
    _contrib_bipartite_matching _contrib_box_nms _contrib_div_sqrt_dim _contrib_gradientmultiplier
    _contrib_round_ste _contrib_sign_ste _copy _div_scalar _equal_scalar _greater_equal_scalar
    _greater_scalar _hypot_scalar _image_adjust_lighting _image_crop _image_flip_left_right
    _image_flip_top_bottom _image_resize _lesser_equal_scalar _lesser_scalar _logical_and_scalar
    _logical_or_scalar _logical_xor_scalar _maximum_scalar _minimum_scalar _minus_scalar _mod_scalar
    _mul_scalar _not_equal_scalar _npi_add_scalar _npi_arctan2_scalar _npi_argmax _npi_argmin
    _npi_copysign_scalar _npi_ldexp_scalar _npi_mod_scalar _npi_multiply_scalar _npi_norm
    _npi_power_scalar _npi_rarctan2_scalar _npi_rcopysign_scalar _npi_rldexp_scalar _npi_rmod_scalar
    _npi_rpower_scalar _npi_rsubtract_scalar _npi_rtrue_divide_scalar _npi_subtract_scalar
    _npi_true_divide_scalar _npx_relu _npx_sigmoid _plus_scalar _power_scalar _rdiv_scalar
    _rminus_scalar _rmod_scalar _rpower_scalar _scatter_minus_scalar _scatter_plus_scalar
    _slice_assign_scalar abs Activation arccos arccosh arcsin arcsinh arctan arctanh argmax
    argmax_channel argmin argsort BlockGrad broadcast_axis broadcast_to Cast cast_storage cbrt ceil
    clip cos cosh degrees erf erfinv exp expand_dims expm1 fix Flatten floor gamma gammaln
    hard_sigmoid log log10 log1p log2 logical_not make_loss max mean min nanprod nansum negative
    norm ones_like prod radians rcbrt reciprocal relu Reshape rint round rsqrt shape_array sigmoid
    sign sin sinh size_array slice slice_axis smooth_l1 SoftmaxActivation softmin softsign sort sqrt
    square sum tan tanh topk transpose trunc zeros_like amp_cast
"""
_NUMBERED = frozenset(_NUMBERED_TEXT.split())
"""Operators whose one input MXNet calls by its number; of the others it shows the parameter's name."""
_OF_SEVERAL = {
    "_npi_concatenate": "data",
    "multi_sum_sq": "array_",
    "multi_all_finite": "array_",
    "_np_atleast_1d": "ary",
    "_np_atleast_2d": "ary",
    "_np_atleast_3d": "ary",
}
"""The names of variadic operators' inputs, before the number; ``arg`` by default."""


def input_name(node: Node, place: int) -> str:
    """The name of an input of a call: ``fc1_weight``, ``exp0_input0``, ``concat0_arg1``."""
    op = node.op
    if not isinstance(op, Op) or op.name in _NUMBERED:
        return f"{node.name}_input{place}"
    if op.name == "_contrib_quantized_concat":
        return f"{node.name}_{_of_ranges(place, len(node.inputs) // 3)}"
    if op.variadic:
        return f"{node.name}_{_OF_SEVERAL.get(op.name, 'arg')}{place}"
    names = op.argument_names(node.statics)
    return f"{node.name}_{names[place]}" if place < len(names) else f"{node.name}_input{place}"


def _of_ranges(place: int, count: int) -> str:
    """The name of one of ``count`` arrays, or of an end of its range; these follow, two for each array."""
    if place < count:
        return f"arg{place}"
    array, end = divmod(place - count, 2)
    return f"arg{array}_{('min', 'max')[end]}"
